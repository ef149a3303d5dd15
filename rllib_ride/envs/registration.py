"""Registers the paper's environments, and the fast vector environment for every MiniGrid id."""

from __future__ import annotations

import gymnasium as gym

# Rooms and largest room size. Grid (25x25) and time limit (20 steps a room) are the class's own.
MULTIROOM = ((7, 4), (7, 8), (10, 4), (10, 6), (10, 10), (12, 10))

# By the name of the spawn. The packages' own ids (`VizdoomMyWayHome-v1`, `SuperMarioBros-1-1-v0`)
# are other tasks: other pictures, actions and rewards.
VIZDOOM_IDS = {
    "sparse": "VizDoomMyWayHome-Sparse-v0",
    "very_sparse": "VizDoomMyWayHome-VerySparse-v0",
    "dense": "VizDoomMyWayHome-Dense-v0",
}
MARIO_ID = "Mario-1-1-v0"


def multiroom_id(rooms: int, size: int) -> str:
    """Id of the task with so many rooms of at most `size` cells an edge, walls counted."""
    return f"MiniGrid-MultiRoom-N{rooms}-S{size}-v0"


def register() -> None:
    """Makes the ids known to Gymnasium; a second call changes nothing.

    Every id of the `minigrid` package then also has a vector entry point, so that
    `gym.make_vec(id, num_envs=n)` gives a `MiniGridVectorEnv`. `gym.make(id)` is untouched.
    """
    import minigrid  # noqa: F401  (registers its own ids)

    for rooms, size in MULTIROOM:
        if multiroom_id(rooms, size) not in gym.registry:
            gym.register(
                multiroom_id(rooms, size),
                entry_point="minigrid.envs:MultiRoomEnv",
                kwargs={"minNumRooms": rooms, "maxNumRooms": rooms, "maxRoomSize": size},
            )
    for spec in gym.registry.values():
        if spec.vector_entry_point is None and str(spec.entry_point).startswith("minigrid."):
            spec.vector_entry_point = f"rllib_ride.envs.entry_points:{spec.id}"
    _register_games()


def _register_games() -> None:
    """Their packages are imported when an environment is made, and may be missing until then."""
    for spawn, env_id in VIZDOOM_IDS.items():
        if env_id not in gym.registry:
            gym.register(
                env_id,
                entry_point="rllib_ride.envs.vizdoom_my_way_home:VizDoomMyWayHomeEnv",
                kwargs={"spawn": spawn},
            )
    if MARIO_ID not in gym.registry:
        gym.register(MARIO_ID, entry_point="rllib_ride.envs.mario:MarioEnv")
