"""MiniGrid-Empty-5x5 that breaks on order, while it trains.

The environment variable RIDE_CHAOS_ORDER names a file with an order: `raise`, `nan`, `shape`, or
`hang 60` (seconds). The first environment to see the file removes it and obeys, so the order is
carried out once. An order that begins with `always` stays, and every environment obeys it at every
step.
"""

from __future__ import annotations

import contextlib
import math
import os
import time
from functools import partial
from pathlib import Path
from typing import Any

import gymnasium as gym
import minigrid  # noqa: F401  (registers its ids)
from minigrid.wrappers import ImgObsWrapper

ENV_ID = "helpers.chaos_env:rllib_ride_test/Chaos-v0"
ORDER_VARIABLE = "RIDE_CHAOS_ORDER"
MESSAGE = "the door fell off"


class Chaos(gym.Wrapper):
    """Obeys the order that it finds at a step."""

    def __init__(self) -> None:
        super().__init__(ImgObsWrapper(gym.make("MiniGrid-Empty-5x5-v0", disable_env_checker=True)))
        self._order = Path(os.environ[ORDER_VARIABLE])

    def step(self, action: Any) -> tuple[Any, ...]:
        obs, reward, terminated, truncated, info = self.env.step(action)
        match self._take_order():
            case ["raise"]:
                raise RuntimeError(MESSAGE)
            case ["nan"]:
                reward = math.nan
            case ["shape"]:
                obs = obs[:-1]
            case ["hang", seconds]:
                time.sleep(float(seconds))
        return obs, reward, terminated, truncated, info

    def _take_order(self) -> list[str]:
        if not self._order.exists():
            return []
        mine = self._order.with_suffix(f".{os.getpid()}")
        with contextlib.suppress(OSError):  # another environment was faster
            words = self._order.read_text().split()
            if words[:1] == ["always"]:
                return words[1:]
            self._order.rename(mine)
            return words
        return []


# Gymnasium's checker would step the environment, and so use up an order before training. The
# `partial` hides the class: `gym.make` would read a wrapper's property `metadata` off the class.
gym.register("rllib_ride_test/Chaos-v0", entry_point=partial(Chaos), disable_env_checker=True)
