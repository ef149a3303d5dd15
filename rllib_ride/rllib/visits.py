"""Counts the visits to each state in the running episodes of N environments."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import gymnasium as gym
import numpy as np
from gymnasium.vector import VectorEnv
from numpy.typing import NDArray

from rllib_ride.intrinsic.counts import EpisodicCounter, hash_observations
from rllib_ride.intrinsic.registry import get_method
from rllib_ride.rllib.settings import IntrinsicSettings

_USUAL_KEYS = ("image", "observations", "observation")


class StateVisits:
    """Computes key and N_ep of each state that N environments reach in lock-step.

    Args:
        num_envs: N.
        counts: What identifies a state: `"full"`, `"view"` or `"none"` (see `IntrinsicSettings`).
        space: Observation space of one environment.
        observation_key: The entry of a Dict observation that is the view.
    """

    def __init__(
        self,
        num_envs: int,
        counts: Literal["full", "view", "none"],
        space: gym.Space,
        observation_key: str | None = None,
    ) -> None:
        self._counts = counts
        self._entry = observation_entry(space, observation_key) if counts == "view" else None
        self._counter = EpisodicCounter(num_envs)
        self._everywhere = np.ones(num_envs, bool)

    @classmethod
    def of(cls, env: VectorEnv, settings: IntrinsicSettings) -> StateVisits:
        """Creates the counter for a vector environment; counts nothing if the method needs none."""
        space = env.single_observation_space
        return cls(env.num_envs, counts_of(settings), space, settings.observation_key)

    def begin(self, obs: Any, infos: Mapping[str, Any]) -> None:
        """Starts an episode in all environments; the first observation counts as a visit."""
        self.visit(obs, infos, self._everywhere)

    def visit(
        self, obs: Any, infos: Mapping[str, Any], begins: NDArray[np.bool_]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Records the state that each environment is now in.

        Args:
            obs: `[N, ...]`, or a dict of such.
            infos: Of the same step.
            begins: `[N]`, True where the state is an episode's first.

        Returns:
            Keys and N_ep, `[N]` each; keys are 0 and N_ep is 1 if nothing is counted.
        """
        if self._counts == "none":
            return np.zeros(len(begins), np.int64), np.ones(len(begins), np.int64)
        self._counter.reset(begins)
        keys = self._keys(obs, infos)
        return keys.view(np.int64), self._counter.visit(keys)

    def _keys(self, obs: Any, infos: Mapping[str, Any]) -> NDArray[np.uint64]:
        if self._counts == "view":
            return hash_observations(obs if self._entry is None else obs[self._entry])
        if "state_key" not in infos:
            raise ValueError(
                "counts='full' needs an environment whose infos have a 'state_key'; "
                "this one has none: use counts='view'"
            )
        return np.asarray(infos["state_key"], np.uint64)


def counts_of(settings: IntrinsicSettings) -> Literal["full", "view", "none"]:
    """What identifies a state: the setting, or `"none"` if the method reads neither keys nor N_ep.

    A method that is not registered in this process is assumed to read them.
    """
    try:
        method = get_method(settings.method)
    except ValueError:
        return settings.counts
    is_read = method is not None and (method.needs_episodic_counts or method.needs_state_keys)
    return settings.counts if is_read else "none"


def observation_entry(space: gym.Space, key: str | None) -> str | None:
    """The entry of a Dict observation that the intrinsic reward uses; None if it is not a Dict.

    Args:
        space: Observation space.
        key: The user's choice. None: the first of `"image"` (MiniGrid), `"observations"` (with an
            action mask) and `"observation"` (with a goal) that exists, or the only entry.

    Raises:
        ValueError: The entry does not exist, or the choice is not clear.
    """
    if not isinstance(space, gym.spaces.Dict):
        if key is not None:
            raise ValueError(f"observation_key={key!r}, but observations are no Dict: {space}")
        return None
    entries = list(space)
    if key is None:
        obvious = [name for name in _USUAL_KEYS if name in entries]
        if not obvious and len(entries) > 1:
            raise ValueError(f"set observation_key to one of the Dict's entries: {entries}")
        return (obvious or entries)[0]
    if key not in entries:
        raise ValueError(
            f"observation_key={key!r} is no entry of the Dict, expected one of {entries}"
        )
    return key


def numeric_entries(obs: Any) -> Any:
    """The observation without entries that are not numeric, such as MiniGrid's `mission` text."""
    if not isinstance(obs, Mapping):
        return obs
    return {
        name: numeric_entries(value)
        for name, value in obs.items()
        if isinstance(value, Mapping) or np.asarray(value).dtype.kind in "biuf"
    }
