"""Reports each fault of an environment in one line, before anything is learned from it."""

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
"""Path to an array in a nested Dict observation; empty if the observation is an array."""


class EnvironmentFault(RuntimeError):
    """An environment raised, or returned invalid data; the message is one line."""


class WatchedEnv(VectorWrapper):
    """Refuses non-finite rewards and observations, and observations of a wrong shape or dtype.

    Costs a few microseconds per step of all environments together. Ignores text and everything else
    in observations that is not a numeric array.

    Args:
        env: The environments.
        name: Their name in messages.
    """

    def __init__(self, env: VectorEnv, name: str) -> None:
        super().__init__(env)
        self._name = name
        self._arrays = list(_arrays(env.observation_space))
        self._steps = 0  # since all environments were reset
        self._began = np.zeros(env.num_envs, int)  # value of `_steps` at which each episode began
        self._ended = np.zeros(env.num_envs, bool)

    @property
    def can_be_pickled(self) -> bool:
        """The environments' own `can_be_pickled`, False if they have none."""
        return bool(getattr(self.env, "can_be_pickled", False))

    def reset(self, **kwargs: Any) -> tuple[Any, dict[str, Any]]:
        """Resets and checks the observations.

        Raises:
            EnvironmentFault: If an environment raises, or an observation is invalid.
        """
        self._steps = 0
        self._began[:], self._ended[:] = 0, False
        try:
            obs, infos = self.env.reset(**kwargs)
        except gym.error.Error:
            raise  # about the arguments, not the environment's fault
        except Exception as error:
            raise self._raised(error) from error
        self._check(obs)
        return obs, infos

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """Steps and checks rewards and observations.

        Raises:
            EnvironmentFault: If an environment raises, or a reward or observation is invalid.
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
            raise self._fault(n, f"its reward is {rewards[n]}, expected a finite number")
        self._ended = terminated | truncated
        return obs, rewards, terminated, truncated, infos

    def _check(self, obs: Any) -> None:
        """Refuses invalid observations, arrays `[N, ...]` each."""
        for keys, space in self._arrays:
            array = _entry(obs, keys)
            if wrong := _misfit(array, space):
                raise self._fault(None, f"{_named(keys, 'the observations')} of all {wrong}")
            if array.dtype.kind == "f" and not (finite := np.isfinite(array)).all():
                n = int(np.argwhere(~finite)[0][0])
                number = array[n][~finite[n]].flat[0]
                what = _named(keys, "its observation")
                raise self._fault(n, f"{what} contains {number}, expected finite numbers")

    def _raised(self, error: Exception) -> EnvironmentFault:
        """The fault behind an error: an observation that does not fit, else the exception."""
        for n, obs in _one_by_one(self.unwrapped):
            for keys, space in _arrays(self.single_observation_space):
                if wrong := _misfit(_entry(obs, keys), space):
                    return self._fault(n, f"{_named(keys, 'its observation')} {wrong}")
        told = one_line(error)[:_LONGEST]
        index = _index_in_loop(error, self.unwrapped)
        return self._fault(index, f"it raised {type(error).__name__}: {told}")

    def _fault(self, n: int | None, what: str) -> EnvironmentFault:
        """The fault of environment n; None if it is not known which."""
        if n is None:
            where = f"step {self._steps} since the start" if self._steps else "at the start"
            return EnvironmentFault(f"environment {self._name}, {where}: {what}")
        step = self._steps - int(self._began[n])
        where = f"step {step} of its episode" if step else "at its reset"
        return EnvironmentFault(
            f"environment {self._name}, number {n} of {self.num_envs}, {where}: {what}"
        )


def _arrays(space: gym.Space, keys: Keys = ()) -> Iterator[tuple[Keys, gym.Space]]:
    """Yields the numeric arrays of a space, each with its path."""
    if isinstance(space, gym.spaces.Dict):
        for key, entry in space.items():
            yield from _arrays(entry, (*keys, key))
    elif space.shape is not None and space.dtype is not None and space.dtype.kind in "biuf":
        yield keys, space


def _entry(obs: Any, keys: Keys) -> Any:
    """The array at a path; None if it is missing."""
    for key in keys:
        obs = obs.get(key) if isinstance(obs, Mapping) else None
    return obs if isinstance(obs, np.ndarray) or obs is None else np.asarray(obs)


def _misfit(array: np.ndarray | None, space: gym.Space) -> str:
    """Describes how an array does not fit a space; empty if it fits.

    The dtype may have another size, but not another kind: NumPy's `same_kind` cast must work.
    """
    if (
        array is not None
        and array.shape == space.shape
        and (array.dtype == space.dtype or np.can_cast(array.dtype, space.dtype, "same_kind"))
    ):
        return ""
    found = "is missing" if array is None else f"has shape {array.shape} and {array.dtype}"
    return f"{found}, expected shape {space.shape} and {space.dtype}"


def _named(keys: Keys, whole: str) -> str:
    return whole + "".join(f"[{key!r}]" for key in keys)


def _one_by_one(env: VectorEnv) -> Iterator[tuple[int, Any]]:
    """Yields each environment's last observation, as it was before Gymnasium stacked them."""
    for n, obs in enumerate(getattr(env, "_env_obs", [])):
        if obs is not None:  # not reset yet
            yield n, obs


def _index_in_loop(error: Exception, env: VectorEnv) -> int | None:
    """Index of the environment that raised, from Gymnasium's loop over them; None if no loop."""
    for frame, _ in traceback.walk_tb(error.__traceback__):
        if frame.f_locals.get("self") is env and isinstance(frame.f_locals.get("i"), int):
            return int(frame.f_locals["i"])
    return None
