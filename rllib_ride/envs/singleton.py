"""One level in every episode: the paper's singleton environments, of any MiniGrid id.

A level is pinned to one environment object, by giving it a `reset` of its own: no class is changed,
and `env.unwrapped` is still what the id makes.

This module is also where the entry points of all MiniGrid ids lead, so that `gym.make` has the
option too: the attribute `<module>.<class>` makes an environment of that class. The class is in the
name, so an entry point stays a string: `EnvSpec.to_json` goes on working, and nothing is imported
before it is used.
"""

from __future__ import annotations

import functools
import importlib
from typing import Any

import gymnasium as gym
from gymnasium.utils import seeding


def entry_point(package_entry_point: str) -> str:
    """Where `<module>:<class>` gets the option `singleton_seed`."""
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

    Seeds given to `reset` then decide on what happens later in an episode, where chance has a part
    in it (obstacles that move, say), and no more on the level.

    Args:
        env: unwrapped.
        level_seed: at least 0.

    Raises:
        ValueError: if the seed is none.
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
    gym.Env.reset(env, seed=seed)  # Seeds, and does no more.
    own = env.np_random
    # Not by the property, which would forget the seed of the environment's own generator.
    env._np_random, _ = seeding.np_random(level_seed)
    try:
        return type(env).reset(env, options=options)
    finally:
        env._np_random = own
