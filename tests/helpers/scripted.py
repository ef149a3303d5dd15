"""A vector environment with given episode lengths, and the transitions expected from it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

ENV_ID = "helpers.scripted:rllib_ride_test/Scripted-v0"
NUM_STATES = 3


class Step(NamedTuple):
    """A transition of one environment.

    Attributes:
        env: Index of the environment.
        episode: Index of its episode.
        t: Step of the episode.
        reward: Of the step.
        n_ep: Visits to the state reached in this episode, including the start and this visit.
        key: Of that state.
        terminated: Whether the episode ends by itself.
        truncated: Whether it ends by a time limit.
    """

    env: int
    episode: int
    t: int
    reward: float
    n_ep: int
    key: int
    terminated: bool
    truncated: bool


class Scripted(VectorEnv):
    """Environment n's e-th episode has `lengths[n][e % len]` steps; every third is truncated.

    Observations are (environment, episode, 0 ..., step of the episode), so no two are equal. Each
    environment cycles through `NUM_STATES` states at its own pace. A step that only resets has the
    reward -999, which must not appear in any transition.

    Args:
        num_envs: N, at most `len(lengths)`.
        lengths: Episode lengths of each environment.
        features: Size of an observation, at least 3.
    """

    metadata: dict[str, Any] = {"autoreset_mode": AutoresetMode.NEXT_STEP}

    def __init__(
        self, num_envs: int = 1, lengths: Sequence[Sequence[int]] = ((1,),), features: int = 3
    ) -> None:
        self.num_envs, self.lengths = num_envs, lengths
        self.single_observation_space = gym.spaces.Box(-1e6, 1e6, (features,), np.float32)
        self.single_action_space = gym.spaces.Discrete(5)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.obs = np.zeros((num_envs, features), np.float32)

    def reset(self, *, seed: Any = None, options: Any = None) -> tuple[np.ndarray, dict[str, Any]]:
        self.episode = np.zeros(self.num_envs, int)
        self.t = np.zeros(self.num_envs, int)
        return self._observe()

    def step(self, actions: np.ndarray) -> tuple[Any, ...]:
        resets = self.t == self._length()
        self.episode += resets
        self.t = np.where(resets, 0, self.t + 1)
        done = (self.t == self._length()) & ~resets
        rewards = np.where(resets, -999.0, reward(np.arange(self.num_envs), self.episode, self.t))
        limit = self.episode % 3 == 2
        obs, infos = self._observe()
        return obs, rewards, done & ~limit, done & limit, infos

    def _length(self) -> np.ndarray:
        return np.array(
            [of[e % len(of)] for of, e in zip(self.lengths, self.episode, strict=False)]
        )

    def _observe(self) -> tuple[np.ndarray, dict[str, Any]]:
        n = np.arange(self.num_envs)
        self.obs[:, 0], self.obs[:, 1], self.obs[:, -1] = n, self.episode, self.t
        return self.obs, {"state_key": state(n, self.t).astype(np.uint64)}


def reward(n: Any, episode: Any, t: Any) -> Any:
    return n + episode / 8 + t / 64  # exact in float32


def state(n: Any, t: Any) -> Any:
    return t // (n + 1) % NUM_STATES


def played(lengths: Sequence[Sequence[int]], num_steps: int) -> list[Step]:
    """The transitions expected from `num_steps` steps of each environment, by a plain loop."""
    steps = []
    for n, of in enumerate(lengths):
        episode, t, seen = 0, 0, [int(state(n, 0))]
        for _ in range(num_steps):
            length = of[episode % len(of)]
            if t == length:  # this step resets
                episode, t, seen = episode + 1, 0, [int(state(n, 0))]
                continue
            t += 1
            seen.append(int(state(n, t)))
            limit = episode % 3 == 2
            steps.append(
                Step(
                    env=n,
                    episode=episode,
                    t=t - 1,
                    reward=float(reward(n, episode, t)),
                    n_ep=seen.count(seen[-1]),
                    key=seen[-1],
                    terminated=t == length and not limit,
                    truncated=t == length and limit,
                )
            )
    return steps


gym.register("rllib_ride_test/Scripted-v0", entry_point=None, vector_entry_point=Scripted)
