"""Registers the paper's environments, and the fast vector environment for every MiniGrid id."""

from __future__ import annotations

import gymnasium as gym

# Rooms and largest room size. Grid (25x25) and time limit (20 steps a room) are the class's own.
MULTIROOM = ((7, 4), (7, 8), (10, 4), (10, 6), (10, 10), (12, 10))


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
