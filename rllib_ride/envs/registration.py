"""Registers the paper's environments, and what this project adds to every MiniGrid id."""

from __future__ import annotations

from typing import Any

import gymnasium as gym

from rllib_ride.envs import singleton

# Rooms and largest room size. Grid (25x25) and time limit (20 steps a room) are the class's own.
MULTIROOM = ((7, 4), (7, 8), (10, 4), (10, 6), (10, 10), (12, 10))

NOISY_TV_ID = "MiniGrid-MultiRoomNoisyTV-N7-S4-v0"
COLORS_ID = "MiniGrid-MultiRoomColors-N7-S4-v0"
HELD_OUT_COLORS_ID = "MiniGrid-MultiRoomHeldOutColors-N7-S4-v0"

# Registered by the `minigrid` package itself.
KEY_CORRIDOR_ID = "MiniGrid-KeyCorridorS3R3-v0"
OBSTRUCTED_MAZE_ID = "MiniGrid-ObstructedMaze-2Dlh-v0"

# Size of the grid and number of obstacles, as in the package's ids whose agent starts in a corner.
# With an agent placed at random, the package has only the first two.
DYNAMIC_OBSTACLES = ((5, 2), (6, 3), (8, 4), (16, 8))

_MODULES = ("minigrid.", "rllib_ride.envs.minigrid_")

# Prefixes of this project's entry points: the vector ones of MiniGrid, and those of the games.
_MINIGRIDS = "rllib_ride.envs.entry_points:"
_VIZDOOM = "rllib_ride.envs.vizdoom_my_way_home:VizDoomMyWayHomeEnv"
_MARIO = "rllib_ride.envs.mario:MarioEnv"

# By the name of the spawn. The packages' own ids (`VizdoomMyWayHome-v1`, `SuperMarioBros-1-1-v0`)
# are different tasks, with different observations, actions and rewards.
VIZDOOM_IDS = {
    "sparse": "VizDoomMyWayHome-Sparse-v0",
    "very_sparse": "VizDoomMyWayHome-VerySparse-v0",
    "dense": "VizDoomMyWayHome-Dense-v0",
}
MARIO_ID = "Mario-1-1-v0"


def multiroom_id(rooms: int, size: int) -> str:
    """Id of the task with `rooms` rooms whose edges have at most `size` cells, walls included."""
    return f"MiniGrid-MultiRoom-N{rooms}-S{size}-v0"


def dynamic_obstacles_id(size: int) -> str:
    """Id of the task of `size` x `size` cells, walls included, with an agent placed at random."""
    return f"MiniGrid-Dynamic-Obstacles-Random-{size}x{size}-v0"


def is_minigrid(env_id: str) -> bool:
    """Whether `gym.make_vec` makes a `MiniGridVectorEnv` for this id, or `module:id`."""
    spec = gym.registry.get(env_id.rpartition(":")[2])
    return spec is not None and str(spec.vector_entry_point).startswith(_MINIGRIDS)


def reports_state_keys(spec: gym.envs.registration.EnvSpec, *, as_vector: bool) -> bool:
    """Whether the environment's infos have a `state_key`, as those of this project do.

    Args:
        spec: Its entry in Gymnasium's registry.
        as_vector: Whether its vector entry point makes it.
    """
    entry_point = spec.vector_entry_point if as_vector else spec.entry_point
    return str(entry_point).startswith((_MINIGRIDS, _VIZDOOM, _MARIO))


def register() -> None:
    """Registers the ids with Gymnasium; a second call changes nothing.

    Every MiniGrid id, including the `minigrid` package's own, also gets the option `singleton_seed`
    and a vector entry point, so that `gym.make_vec(id, num_envs=n)` makes a `MiniGridVectorEnv`.
    `gym.make(id)` still makes the package's environment.
    """
    import minigrid  # noqa: F401  (registers its own ids)

    from rllib_ride.envs.minigrid_colors import HELD_OUT_COLORS

    for rooms, size in MULTIROOM:
        _register(multiroom_id(rooms, size), "minigrid.envs:MultiRoomEnv", _rooms(rooms, size))
    _register(NOISY_TV_ID, "rllib_ride.envs.minigrid_noisy_tv:MultiRoomNoisyTVEnv", _rooms(7, 4))
    colors = "rllib_ride.envs.minigrid_colors:MultiRoomColorsEnv"
    _register(COLORS_ID, colors, _rooms(7, 4))
    _register(HELD_OUT_COLORS_ID, colors, {**_rooms(7, 4), "colors": HELD_OUT_COLORS})
    for size, obstacles in DYNAMIC_OBSTACLES:
        _register(
            dynamic_obstacles_id(size),
            "minigrid.envs:DynamicObstaclesEnv",
            {"size": size, "n_obstacles": obstacles, "agent_start_pos": None},
        )
    for spec in gym.registry.values():
        if spec.vector_entry_point is None and str(spec.entry_point).startswith(_MODULES):
            spec.vector_entry_point = f"{_MINIGRIDS}{spec.id}"
            spec.entry_point = singleton.entry_point(str(spec.entry_point))
    _register_games()


def _rooms(rooms: int, size: int) -> dict[str, Any]:
    return {"minNumRooms": rooms, "maxNumRooms": rooms, "maxRoomSize": size}


def _register(env_id: str, entry_point: str, kwargs: dict[str, Any]) -> None:
    if env_id not in gym.registry:
        gym.register(env_id, entry_point=entry_point, kwargs=kwargs)


def _register_games() -> None:
    """Registers the games. Their packages are imported only when an environment is made."""
    for spawn, env_id in VIZDOOM_IDS.items():
        _register(env_id, _VIZDOOM, {"spawn": spawn})
    _register(MARIO_ID, _MARIO, {})
