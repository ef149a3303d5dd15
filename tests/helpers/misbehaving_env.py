"""Environments that misbehave in a given way at a given step."""

from __future__ import annotations

import time
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

ENV_ID = "helpers.misbehaving_env:rllib_ride_test/Misbehaving-v0"
VECTOR_ID = "helpers.misbehaving_env:rllib_ride_test/MisbehavingVector-v0"
SPACE = gym.spaces.Dict(
    {
        "observation": gym.spaces.Box(-np.inf, np.inf, (3,), np.float32),
        "view": gym.spaces.Box(0, 255, (2, 4, 3), np.uint8),
    }
)


class Misbehaving(gym.Env):
    """Runs episodes of six steps, and misbehaves at step `at` of episode `episode`.

    Args:
        how: The misbehaviour, see `step` and `_observe`; None: none.
        at: The step, counted from 1; 0 is the reset.
        episode: Counted from 0; None: every episode.
        which: Only the environment with this index, in order of creation since `made` was set to 0;
            None: all.
        seconds: How long it hangs, if `how` is "hang".
    """

    made = 0

    observation_space = SPACE
    action_space = gym.spaces.Discrete(3)

    def __init__(
        self,
        how: str | None = None,
        at: int = 4,
        episode: int | None = 1,
        which: int | None = None,
        seconds: float = 0.0,
    ) -> None:
        self._how = how if which in (None, Misbehaving.made) else None
        self._at, self._episode, self._seconds = at, episode, seconds
        self._episodes = -1
        Misbehaving.made += 1

    def reset(self, *, seed: Any = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self._episodes += 1
        self._steps = 0
        return self._observe(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self._steps += 1
        reward = 0.25
        if self._now("reward nan"):
            reward = float("nan")
        if self._now("reward inf"):
            reward = float("inf")
        if self._now("hang"):
            time.sleep(self._seconds)
        return self._observe(), reward, self._steps == 6, False, {}

    def _now(self, how: str) -> bool:
        return (
            self._how == how and self._episode in (None, self._episodes) and self._steps == self._at
        )

    def _observe(self) -> dict[str, np.ndarray]:
        if self._now("raise"):
            raise ValueError("the door\nfell off")
        vector, view = np.full(3, 0.5, np.float32), np.full((2, 4, 3), 7, np.uint8)
        if self._now("obs nan"):
            vector[1] = np.nan
        if self._now("obs shape"):
            view = view[:, :3]
        if self._now("obs dtype"):
            view = view / 255.0
        if self._now("obs entry"):
            return {"view": view}
        return {"observation": vector, "view": view}


class MisbehavingVector(VectorEnv):
    """Several `Misbehaving`, stacked without checks: a fault in all of them is one in the array."""

    metadata: dict[str, Any] = {"autoreset_mode": AutoresetMode.NEXT_STEP}
    single_observation_space = SPACE
    single_action_space = Misbehaving.action_space

    def __init__(self, num_envs: int = 1, **options: Any) -> None:
        self.num_envs = num_envs
        self.observation_space = batch_space(SPACE, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._envs = [Misbehaving(**options) for _ in range(num_envs)]

    def reset(self, *, seed: Any = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        self._done = np.zeros(self.num_envs, bool)
        return self._stacked([env.reset()[0] for env in self._envs]), {}

    def step(self, actions: Any) -> tuple[Any, ...]:
        steps: list[Any] = [
            (env.reset()[0], 0.0, False) if done else env.step(None)[:3]
            for env, done in zip(self._envs, self._done, strict=True)
        ]
        obs, rewards, ends = zip(*steps, strict=True)
        self._done = np.array(ends)
        return self._stacked(obs), np.array(rewards), self._done, np.zeros_like(self._done), {}

    def _stacked(self, obs: Any) -> dict[str, np.ndarray]:
        return {key: np.stack([one[key] for one in obs]) for key in obs[0]}


gym.register("rllib_ride_test/Misbehaving-v0", entry_point=Misbehaving)
gym.register("rllib_ride_test/MisbehavingVector-v0", vector_entry_point=MisbehavingVector)
