"""Environments that misbehave: each fault told in one line, before anything is learned from it."""

from __future__ import annotations

import traceback
from collections.abc import Iterator, Mapping
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.vector import VectorEnv, VectorWrapper

from rllib_ride.wording import one_line

_LONGEST = 300  # characters of an environment's own message

Keys = tuple[str, ...]
"""Where in a Dict observation an array is; empty if the observation is an array itself."""


class EnvironmentFault(RuntimeError):
    """An environment raised, or gave what nobody can learn from; the message is one line."""


class WatchedEnv(VectorWrapper):
    """Refuses rewards and observations that are not finite, and observations of a wrong kind.

    Costs some microseconds a step of all environments together. Passes over text in observations
    and whatever else is no array.

    Args:
        env: The environments.
        name: What to call them in a message.
    """

    def __init__(self, env: VectorEnv, name: str) -> None:
        super().__init__(env)
        self._name = name
        self._arrays = list(_arrays(env.observation_space))
        self._steps = 0  # of all, since they were reset together
        self._began = np.zeros(env.num_envs, int)  # at which of these steps each episode did
        self._ended = np.zeros(env.num_envs, bool)

    @property
    def can_be_pickled(self) -> bool:
        """What the environments say of themselves."""
        return bool(getattr(self.env, "can_be_pickled", False))

    def reset(self, **kwargs: Any) -> tuple[Any, dict[str, Any]]:
        """As the environments'.

        Raises:
            EnvironmentFault: If one raises, or an observation is wrong.
        """
        self._steps = 0
        self._began[:], self._ended[:] = 0, False
        try:
            obs, infos = self.env.reset(**kwargs)
        except gym.error.Error:
            raise  # not an environment's, but about the arguments
        except Exception as error:
            raise self._raised(error) from error
        self._check(obs)
        return obs, infos

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """As the environments'.

        Raises:
            EnvironmentFault: If one raises, or a reward or an observation is wrong.
        """
        self._steps += 1
        self._began[self._ended] = self._steps
        try:
            obs, rewards, terminated, truncated, infos = self.env.step(actions)
        except Exception as error:
            raise self._raised(error) from error
        self._check(obs)
        finite = np.isfinite(rewards)  # [N]
        if not finite.all():
            n = int(np.argmin(finite))
            raise self._fault(n, f"its reward is {rewards[n]}, want a finite number")
        self._ended = terminated | truncated
        return obs, rewards, terminated, truncated, infos

    def _check(self, obs: Any) -> None:
        """Refuses wrong observations, arrays `[N, ...]` each."""
        for keys, space in self._arrays:
            array = _entry(obs, keys)
            if wrong := _misfit(array, space):
                raise self._fault(None, f"{_named(keys, 'the observations')} of all {wrong}")
            if array.dtype.kind == "f" and not (finite := np.isfinite(array)).all():
                n = int(np.argwhere(~finite)[0][0])
                number = array[n][~finite[n]].flat[0]
                what = _named(keys, "its observation")
                raise self._fault(n, f"{what} contains {number}, want finite numbers")

    def _raised(self, error: Exception) -> EnvironmentFault:
        """Names what an environment raised, or gave that could not be put beside the others'."""
        for n, obs in _one_by_one(self.unwrapped):
            for keys, space in _arrays(self.single_observation_space):
                if wrong := _misfit(_entry(obs, keys), space):
                    return self._fault(n, f"{_named(keys, 'its observation')} {wrong}")
        told = one_line(error)[:_LONGEST]
        index = _index_in_loop(error, self.unwrapped)
        return self._fault(index, f"it raised {type(error).__name__}: {told}")

    def _fault(self, n: int | None, what: str) -> EnvironmentFault:
        """Of environment n; None: which one is not known."""
        if n is None:
            where = f"step {self._steps} since the start" if self._steps else "at the start"
            return EnvironmentFault(f"environment {self._name}, {where}: {what}")
        step = self._steps - int(self._began[n])
        where = f"step {step} of its episode" if step else "at its reset"
        return EnvironmentFault(
            f"environment {self._name}, number {n} of {self.num_envs}, {where}: {what}"
        )


def _arrays(space: gym.Space, keys: Keys = ()) -> Iterator[tuple[Keys, gym.Space]]:
    """What in a space is an array of numbers, and where."""
    if isinstance(space, gym.spaces.Dict):
        for key, entry in space.items():
            yield from _arrays(entry, (*keys, key))
    elif space.shape is not None and space.dtype is not None and space.dtype.kind in "biuf":
        yield keys, space


def _entry(obs: Any, keys: Keys) -> Any:
    """The array there; None if there is nothing."""
    for key in keys:
        obs = obs.get(key) if isinstance(obs, Mapping) else None
    return obs if isinstance(obs, np.ndarray) or obs is None else np.asarray(obs)


def _misfit(array: np.ndarray | None, space: gym.Space) -> str:
    """What is wrong with an array that should be of a space; empty if nothing is.

    Its numbers may have another size, as NumPy casts them, but not another kind.
    """
    if (
        array is not None
        and array.shape == space.shape
        and (array.dtype == space.dtype or np.can_cast(array.dtype, space.dtype, "same_kind"))
    ):
        return ""
    found = "is missing" if array is None else f"has shape {array.shape} and {array.dtype}"
    return f"{found}, want shape {space.shape} and {space.dtype}"


def _named(keys: Keys, whole: str) -> str:
    return whole + "".join(f"[{key!r}]" for key in keys)


def _one_by_one(env: VectorEnv) -> Iterator[tuple[int, Any]]:
    """The last observation of each, as it was before Gymnasium put them into one array."""
    for n, obs in enumerate(getattr(env, "_env_obs", [])):
        if obs is not None:  # not reset yet
            yield n, obs


def _index_in_loop(error: Exception, env: VectorEnv) -> int | None:
    """Which environment Gymnasium's loop over them was at when one raised, if it has a loop."""
    for frame, _ in traceback.walk_tb(error.__traceback__):
        if frame.f_locals.get("self") is env and isinstance(frame.f_locals.get("i"), int):
            return int(frame.f_locals["i"])
    return None
