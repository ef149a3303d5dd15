"""The paper's singleton environments, for any MiniGrid id: the same level in every episode.

A level is pinned to one environment object by giving that object its own `reset`. No class is
changed, and `env.unwrapped` is still what the id makes.

The entry points of all MiniGrid ids also lead to this module, so that `gym.make` has the option
`singleton_seed` too: the attribute `<module>.<class>` makes an environment of that class. The name
contains the class, so an entry point stays a string: `EnvSpec.to_json` keeps working, and nothing
is imported before it is used.
"""

from __future__ import annotations

import functools
import importlib
from typing import Any

import gymnasium as gym
from gymnasium.utils import seeding


def entry_point(package_entry_point: str) -> str:
    """The entry point that adds the option `singleton_seed` to `<module>:<class>`."""
    return f"{__name__}:{package_entry_point.replace(':', '.')}"


def __getattr__(name: str) -> functools.partial[gym.Env]:
    module, _, class_name = name.rpartition(".")
    if not module:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    cls = getattr(importlib.import_module(module), class_name)
    creator = functools.partial(_make, cls)
    creator.metadata = cls.metadata  # type: ignore[attr-defined]  # gym.make looks for it here
    return creator


def _make(cls: type[gym.Env], *, singleton_seed: int | None = None, **kwargs: Any) -> gym.Env:
    env = cls(**kwargs)
    if singleton_seed is not None:
        pin_level(env, singleton_seed)
    return env


def pin_level(env: gym.Env, level_seed: int) -> None:
    """Makes every episode of `env` start in the level of `env.reset(seed=level_seed)`.

    Seeds passed to `reset` then no longer determine the level, only the randomness later in an
    episode, if any (moving obstacles, for example).

    Args:
        env: unwrapped.
        level_seed: at least 0.

    Raises:
        ValueError: if the seed is not a whole number of at least 0.
    """
    if isinstance(level_seed, bool) or not isinstance(level_seed, int) or level_seed < 0:
        raise ValueError(
            f"singleton_seed={level_seed!r}: expected a whole number of at least 0, the seed of "
            "the one level, or None for new levels"
        )
    env.reset = functools.partial(_reset_to_level, env, level_seed)  # type: ignore[method-assign]


def _reset_to_level(
    env: gym.Env,
    level_seed: int,
    *,
    seed: int | None = None,
    options: dict[str, Any] | None = None,
) -> tuple[Any, dict[str, Any]]:
    gym.Env.reset(env, seed=seed)  # Only seeds.
    own = env.np_random
    # Not through the property `np_random`, which would forget the seed of the own generator.
    env._np_random, _ = seeding.np_random(level_seed)
    try:
        return type(env).reset(env, options=options)
    finally:
        env._np_random = own
