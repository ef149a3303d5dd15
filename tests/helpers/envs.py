"""A vector environment whose observations tell environment, state and step."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

# Gymnasium imports the module before the colon, in remote runners too, which registers the id.
ENV_ID = "helpers.envs:rllib_ride_test/Clockwork-v0"
NUM_STATES = 3


class Clockwork(VectorEnv):
    """Environment n runs episodes of `2 + 3 n` steps, cycling through three states.

    Odd environments truncate at a time limit, even ones terminate. The image's pixel (0, 0) is
    (state, n, step within the episode); the reward of the step t -> t + 1 is (t + 1) / 1000.
    """

    metadata: dict[str, Any] = {"autoreset_mode": AutoresetMode.NEXT_STEP}

    def __init__(self, num_envs: int = 1) -> None:
        self.num_envs = num_envs
        self.single_observation_space = gym.spaces.Box(0, 255, (7, 7, 3), np.uint8)
        self.single_action_space = gym.spaces.Discrete(7)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.lengths = 2 + 3 * np.arange(num_envs)
        # One buffer for all steps, as Gymnasium's vector environments have with copy=False.
        self.obs = np.zeros((num_envs, 7, 7, 3), np.uint8)

    def reset(self, *, seed: Any = None, options: Any = None) -> tuple[np.ndarray, dict[str, Any]]:
        self.steps = np.zeros(self.num_envs, int)
        return self._observe()

    def step(self, actions: np.ndarray) -> tuple[Any, ...]:
        resetting = self.steps == self.lengths
        self.steps = np.where(resetting, 0, self.steps + 1)
        done = self.steps == self.lengths
        odd = np.arange(self.num_envs) % 2 == 1
        obs, infos = self._observe()
        return obs, self.steps / 1000, done & ~odd, done & odd, infos

    def _observe(self) -> tuple[np.ndarray, dict[str, Any]]:
        state = self.steps % NUM_STATES
        self.obs[:, 0, 0] = np.stack([state, np.arange(self.num_envs), self.steps], axis=1)
        return self.obs, {"state_key": state.astype(np.uint64)}


gym.register("rllib_ride_test/Clockwork-v0", entry_point=None, vector_entry_point=Clockwork)
