"""A MiniGrid level as plain data: walls, rooms and objects."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from minigrid.core.world_object import Box, WorldObj
from minigrid.minigrid_env import MiniGridEnv
from numpy.typing import NDArray

Cell = tuple[int, int]
"""(x, y), x to the right and y downwards, as in MiniGrid."""

NAMES = {
    "A": "agent's start",
    "G": "goal",
    "D": "door",
    "K": "key (maybe in a box)",
    "B": "ball",
    "X": "box",
    "L": "lava",
}
"""Meaning of the letters; those of the paper's heatmap captions where it has one."""

_LETTERS = {"goal": "G", "door": "D", "key": "K", "ball": "B", "box": "X", "lava": "L"}


@dataclass(frozen=True)
class Thing:
    """An object of a level.

    Attributes:
        cell: Its cell.
        letter: One of `NAMES`.
        color: MiniGrid's name of its colour.
    """

    cell: Cell
    letter: str
    color: str


@dataclass(frozen=True)
class Level:
    """A level at an episode's start; arrays are indexed by row and column, `[y, x]`.

    Attributes:
        walls: `[height, width]` bool.
        rooms: `[height, width]` ints: the room of each floor cell, numbered from 1 in the order in
            which a walk from the start meets them; 0 on walls, doors and outside. A room is an area
            bounded by walls and doors.
        things: All objects except walls.
        start: The agent's cell.
    """

    walls: NDArray[np.bool_]
    rooms: NDArray[np.int64]
    things: tuple[Thing, ...]
    start: Cell

    @property
    def num_rooms(self) -> int:
        """Number of rooms."""
        return int(self.rooms.max())

    def window(self) -> tuple[int, int, int, int]:
        """The used part of the grid: left, right, top, bottom; right and bottom are exclusive.

        MultiRoom levels fill only a part of their grid.
        """
        y, x = np.nonzero(self.walls | (self.rooms > 0))
        return int(x.min()), int(x.max()) + 1, int(y.min()), int(y.max()) + 1


def level_of(env: MiniGridEnv) -> Level:
    """The level of an environment that has just been reset."""
    width, height = env.width, env.height
    objects = {(i % width, i // width): obj for i, obj in enumerate(env.grid.grid) if obj}
    walls, doors = np.zeros((height, width), bool), np.zeros((height, width), bool)
    for (x, y), obj in objects.items():
        walls[y, x] = obj.type == "wall"
        doors[y, x] = obj.type == "door"
    start = int(env.agent_pos[0]), int(env.agent_pos[1])
    return Level(
        walls=walls,
        rooms=number_rooms(walls, doors, start),
        things=tuple(
            Thing(cell, letter, obj.color)
            for cell, obj in objects.items()
            if (letter := _letter(obj)) is not None
        ),
        start=start,
    )


def number_rooms(
    walls: NDArray[np.bool_], doors: NDArray[np.bool_], start: Cell
) -> NDArray[np.int64]:
    """Numbers the rooms that can be reached from the start, as in `Level`; ignores locks.

    Args:
        walls: `[height, width]`.
        doors: `[height, width]`.
        start: A cell of the first room.
    """
    rooms = np.zeros(walls.shape, np.int64)
    entrances, number = deque([start]), 0
    while entrances:
        x, y = entrances.popleft()
        if rooms[y, x] or walls[y, x] or doors[y, x]:
            continue
        number += 1
        rooms[y, x] = number
        floor = deque([(x, y)])
        while floor:
            for x, y in _neighbours(floor.popleft(), walls.shape):
                if doors[y, x]:
                    entrances.extend(_neighbours((x, y), walls.shape))
                elif not walls[y, x] and not rooms[y, x]:
                    rooms[y, x] = number
                    floor.append((x, y))
    return rooms


def _neighbours(cell: Cell, shape: tuple[int, ...]) -> Iterator[Cell]:
    height, width = shape
    for dx, dy in ((1, 0), (0, 1), (-1, 0), (0, -1)):
        x, y = cell[0] + dx, cell[1] + dy
        if 0 <= x < width and 0 <= y < height:
            yield x, y


def _letter(obj: WorldObj) -> str | None:
    inside = obj.contains if isinstance(obj, Box) else None
    return _LETTERS.get((inside or obj).type)
