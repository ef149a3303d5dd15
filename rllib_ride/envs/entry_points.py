"""Vector entry points by id: `rllib_ride.envs.entry_points:<id>` makes a `MiniGridVectorEnv`.

Gymnasium calls a vector entry point without the id it belongs to. The id is in the name instead,
so an entry point stays a string: `EnvSpec.to_json` goes on working, and nothing is imported before
it is used.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

import gymnasium as gym


def __getattr__(env_id: str) -> Callable[..., gym.vector.VectorEnv]:
    if env_id.startswith("__") or env_id not in gym.registry:
        raise AttributeError(f"module {__name__!r} has no attribute {env_id!r}")
    from rllib_ride.envs.minigrid_vector import MiniGridVectorEnv

    return functools.partial(MiniGridVectorEnv, env_id)
