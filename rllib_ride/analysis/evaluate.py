"""Evaluates a checkpoint's policy over a number of whole episodes."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rllib_ride.analysis.play import Moment, num_envs_for, play
from rllib_ride.analysis.policy import Policy
from rllib_ride.intrinsic.counts import EpisodicCounter


@dataclass(frozen=True)
class Scores:
    """The result of `rllib-ride evaluate`.

    Attributes:
        episodes: Episodes played.
        return_mean: Mean extrinsic return of an episode.
        return_std: Its standard deviation over the episodes.
        length_mean: Mean number of transitions of an episode.
        success_rate: Share of episodes with a return above 0, which reached the goal if the reward
            is sparse. For a game that reports whether the flag was reached: share that reached it.
        states_visited_mean: Mean number of distinct states in an episode, including the first, by
            the key of `"full"` counts; None if the environment has no such key.
        frames_trained: Transitions the policy was trained on.
    """

    episodes: int
    return_mean: float
    return_std: float
    length_mean: float
    success_rate: float
    states_visited_mean: float | None
    frames_trained: int


def evaluate(policy: Policy, *, episodes: int, seed: int, greedy: bool) -> Scores:
    """Plays whole episodes and averages over them.

    Args:
        policy: The policy.
        episodes: Number to play, at least 1.
        seed: Of levels and sampled actions.
        greedy: Take the most likely action; otherwise sample, as in training.
    """
    with contextlib.closing(policy.make_env(num_envs_for(episodes))) as env:
        tally = _Tally(env.num_envs)
        for moment in play(policy, env, episodes=episodes, seed=seed, greedy=greedy):
            tally.add(moment)
    returns, lengths, successes, states = np.array(tally.ended, float).T  # [episodes] each
    return Scores(
        episodes=episodes,
        return_mean=float(returns.mean()),
        return_std=float(returns.std()),
        length_mean=float(lengths.mean()),
        success_rate=float(successes.mean()),
        states_visited_mean=None if np.isnan(states).any() else float(states.mean()),
        frames_trained=policy.frames_trained,
    )


class _Tally:
    """Accumulates statistics of the running episode of each of N environments.

    Attributes:
        ended: Return, length, success and number of distinct states of each ended episode that
            counts; the last is NaN if the environment reports no state key.
    """

    def __init__(self, num_envs: int) -> None:
        self.ended: list[tuple[float, int, bool, float]] = []
        self._return, self._length = np.zeros(num_envs), np.zeros(num_envs, int)
        self._states = np.full(num_envs, np.nan)
        self._visits = EpisodicCounter(num_envs)

    def add(self, moment: Moment) -> None:
        """Adds one step of each environment."""
        begins = moment.begins
        self._return = np.where(begins, 0.0, self._return + moment.rewards)
        self._length = np.where(begins, 0, self._length + 1)
        if "state_key" in moment.infos:
            self._visits.reset(begins)
            n_ep = self._visits.visit(moment.infos["state_key"])
            self._states = np.where(begins, 0, self._states) + (n_ep == 1)
        success = _is_success(moment.infos, self._return)
        for n in np.flatnonzero(moment.ended & moment.counted):
            episode = self._return[n], self._length[n], success[n], self._states[n]
            self.ended.append(episode)


def _is_success(infos: Mapping[str, Any], returns: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Success by environment, `[N]`; Mario needs the flag, as it rewards each step to the right."""
    return np.asarray(infos["flag_get"], bool) if "flag_get" in infos else returns > 0
