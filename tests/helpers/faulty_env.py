"""An environment that breaks after a number of steps, as a user's may."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np

ENV_ID = "helpers.faulty_env:rllib_ride_test/Faulty-v0"


class Faulty(gym.Env):
    """Raises at its fifth step."""

    observation_space = gym.spaces.Box(0, 255, (7, 7, 3), np.uint8)
    action_space = gym.spaces.Discrete(3)

    def reset(self, *, seed: Any = None, options: Any = None) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed)
        self.steps = 0
        return np.zeros((7, 7, 3), np.uint8), {}

    def step(self, action: int) -> tuple[Any, ...]:
        self.steps += 1
        if self.steps == 5:
            raise RuntimeError("the door fell off")
        return np.zeros((7, 7, 3), np.uint8), 0.0, False, False, {}


gym.register("rllib_ride_test/Faulty-v0", entry_point=Faulty)
