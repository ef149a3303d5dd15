"""Vector entry points by id: `rllib_ride.envs.entry_points:<id>` makes a `MiniGridVectorEnv`.

Gymnasium does not tell a vector entry point the id that it belongs to, so the name contains the id.
The entry point stays a string: `EnvSpec.to_json` keeps working, and nothing is imported before it
is used.
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
