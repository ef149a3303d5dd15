"""Makes the MultiRoom levels of the `minigrid` package with compiled code.

The package places a level's rooms by trial and error: it lays a chain of rooms, and starts a new
chain if the next room does not fit. Most chains of many large rooms fail, so a level of twelve
rooms takes hundreds of milliseconds in Python. Here numba makes the same draws from the same
generator in the same order; its `Generator` methods follow NumPy's streams. The level equals the
package's, and so does the state of the generator afterwards.

Based on minigrid 3.2 (`MultiRoomEnv._gen_grid`, `_placeRoom`, `MiniGridEnv.place_obj`).
"""

from __future__ import annotations

import numpy as np
from minigrid.core.constants import COLOR_NAMES
from minigrid.core.grid import Grid
from minigrid.core.world_object import Door, Goal, Wall
from minigrid.envs.multiroom import MultiRoom, MultiRoomEnv
from numba.np.random.generator_core import next_uint32
from numpy.typing import NDArray

from rllib_ride.compiled import compiled

# The methods that determine a level. A class that overrides one of them keeps its own levels.
_LEVEL_METHODS = ("_gen_grid", "_placeRoom", "place_agent", "place_obj", "_rand_elem", "_rand_int")

_MIN_SIZE = 4
_TRIES = 8  # For each room of a chain but the first.
# Ctrl-C cannot interrupt compiled code: it returns after this many chains, some tenths of a second.
_CHAINS = 200_000

# What a cell holds; door i, counted from 0, is _DOOR + i.
_EMPTY, _WALL, _GOAL, _DOOR = 0, 1, 2, 3
_RIGHT, _BOTTOM, _LEFT, _TOP = range(4)
_LOW_BITS = np.uint64(2**32 - 1)


def has_package_levels(cls: type) -> bool:
    """Whether `cls` is a MultiRoom task that makes its levels with the package's own code."""
    return issubclass(cls, MultiRoomEnv) and all(
        getattr(cls, name) is getattr(MultiRoomEnv, name) for name in _LEVEL_METHODS
    )


def gen_grid(env: MultiRoomEnv, width: int, height: int) -> None:
    """Replaces `MultiRoomEnv._gen_grid`: the same level, and the same state of `env.np_random`.

    Args:
        env: gets a new grid, rooms, an agent's place and direction, a goal's place and a mission.
        width: of the grid, in cells.
        height: of the grid, in cells.
    """
    rng = env.np_random
    rooms = np.empty((env._rand_int(env.minNumRooms, env.maxNumRooms + 1), 6), np.int64)
    while not _place_rooms(rng, rooms, env.maxRoomSize, width, height):
        pass
    cells, colors, places = _furnish(rng, rooms, len(COLOR_NAMES), width, height)

    goal, doors = Goal(), [Door(COLOR_NAMES[color]) for color in colors.tolist()]
    objects = np.array([None, Wall(), goal, *doors], object)  # Indexed by _EMPTY, _WALL, ...
    env.grid = Grid(width, height)
    env.grid.grid = objects[cells.ravel()].tolist()
    env.rooms = [
        MultiRoom((x, y), (size_x, size_y), (door_x, door_y), None)
        for x, y, size_x, size_y, door_x, door_y in rooms.tolist()
    ]
    for room, following in zip(env.rooms, env.rooms[1:], strict=False):
        room.exitDoorPos = following.entryDoorPos

    x, y, env.agent_dir, goal_x, goal_y = places
    env.agent_pos, env.goal_pos = (x, y), (goal_x, goal_y)
    goal.init_pos = goal.cur_pos = env.goal_pos
    env.mission = MultiRoomEnv._gen_mission()


@compiled
def _draw(rng: np.random.Generator, low: int, high: int) -> int | np.integer:
    """`rng.integers(low, high)` for up to 2^32 values, as NumPy draws it (Lemire, 2019).

    numba's own `integers` draws the same numbers, but makes an array for each: ten times slower.
    """
    count = np.uint64(high - low)
    if count == 1:
        return low
    product = np.uint64(next_uint32(rng.bit_generator)) * count
    if product & _LOW_BITS < count:
        threshold = (_LOW_BITS + np.uint64(1) - count) % count
        while product & _LOW_BITS < threshold:
            product = np.uint64(next_uint32(rng.bit_generator)) * count
    return low + np.int64(product >> np.uint64(32))


@compiled
def _exit_door(
    rng: np.random.Generator, room: NDArray[np.int64], entry_wall: int
) -> tuple[int, int, int]:
    """Draws a wall of `room` other than its entry's, and a place for a door in it: wall, x, y."""
    left, top, size_x, size_y = room[:4]
    wall = _draw(rng, 0, 3)
    wall += wall >= entry_wall
    if wall in (_RIGHT, _LEFT):
        y = top + _draw(rng, 1, size_y - 1)
        return wall, left + (size_x - 1) * (wall == _RIGHT), y
    x = left + _draw(rng, 1, size_x - 1)
    return wall, x, top + (size_y - 1) * (wall == _BOTTOM)


@compiled
def _place_room(
    rng: np.random.Generator,
    rooms: NDArray[np.int64],
    index: int,
    entry: tuple[int, int, int],
    max_size: int,
    width: int,
    height: int,
) -> bool:
    """Draws room `index` at its entry (wall, x, y) and returns whether it fits."""
    wall, x, y = entry
    size_x, size_y = _draw(rng, _MIN_SIZE, max_size + 1), _draw(rng, _MIN_SIZE, max_size + 1)
    left, top = x, y
    if index > 0:
        if wall in (_RIGHT, _LEFT):
            left -= (size_x - 1) * (wall == _RIGHT)
            top = _draw(rng, y - size_y + 2, y)
        else:
            left = _draw(rng, x - size_x + 2, x)
            top -= (size_y - 1) * (wall == _BOTTOM)

    if left < 0 or top < 0 or left + size_x > width or top + size_y >= height:
        return False
    for i in range(index - 1):  # The package ignores the previous room.
        apart_x = left + size_x < rooms[i, 0] or rooms[i, 0] + rooms[i, 2] <= left
        apart_y = top + size_y < rooms[i, 1] or rooms[i, 1] + rooms[i, 3] <= top
        if not apart_x and not apart_y:
            return False
    for i, value in enumerate((left, top, size_x, size_y, x, y)):
        rooms[index, i] = value
    return True


@compiled
def _chain_length(
    rng: np.random.Generator, rooms: NDArray[np.int64], max_size: int, width: int, height: int
) -> int:
    """Lays one chain of rooms and returns how many fit."""
    entry = _LEFT, _draw(rng, 0, width - 2), _draw(rng, 0, width - 2)
    if not _place_room(rng, rooms, 0, entry, max_size, width, height):
        return 0
    for index in range(1, len(rooms)):
        for _ in range(_TRIES):
            wall, x, y = _exit_door(rng, rooms[index - 1], entry[0])
            following = (wall + 2) % 4, x, y
            if _place_room(rng, rooms, index, following, max_size, width, height):
                entry = following
                break
        else:
            return index
    return len(rooms)


@compiled
def _place_rooms(
    rng: np.random.Generator, rooms: NDArray[np.int64], max_size: int, width: int, height: int
) -> bool:
    """Lays chains until one fills `rooms`, at most `_CHAINS`.

    Args:
        rng: drawn from as the package does.
        rooms: receives the chain, int64 [rooms, 6]: left, top, width, height, entry door's x and y.
        max_size: the largest edge of a room in cells, walls included.
        width: of the grid.
        height: of the grid.

    Returns:
        Whether `rooms` is filled.
    """
    for _ in range(_CHAINS):  # noqa: SIM110  (numba compiles no any() of a generator)
        if _chain_length(rng, rooms, max_size, width, height) == len(rooms):
            return True
    return False


@compiled
def _free_cell(
    rng: np.random.Generator, cells: NDArray[np.int64], room: NDArray[np.int64]
) -> tuple[int, int]:
    """Draws cells of `room` until one is empty: x, y."""
    left, top, size_x, size_y = room[:4]
    while True:
        x, y = _draw(rng, left, left + size_x), _draw(rng, top, top + size_y)
        if cells[y, x] == _EMPTY:
            return x, y


@compiled
def _furnish(
    rng: np.random.Generator, rooms: NDArray[np.int64], num_colors: int, width: int, height: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Draws walls, doors of random colours, an agent in the first room and a goal in the last.

    Returns:
        What each cell holds, int64 [height, width]; the doors' colours, int64 [rooms - 1]; and x
        and y of the agent, its direction, and x and y of the goal, int64 [5].
    """
    cells = np.full((height, width), _EMPTY, np.int64)
    colors = np.empty(len(rooms) - 1, np.int64)
    for i in range(len(rooms)):
        left, top, size_x, size_y, door_x, door_y = rooms[i]
        right, bottom = left + size_x - 1, top + size_y - 1
        cells[top, left : right + 1] = cells[bottom, left : right + 1] = _WALL
        cells[top : bottom + 1, left] = cells[top : bottom + 1, right] = _WALL
        if i == 1:
            colors[0] = _draw(rng, 0, num_colors)
        elif i > 1:  # A different colour from the previous door.
            color = _draw(rng, 0, num_colors - 1)
            colors[i - 1] = color + (color >= colors[i - 2])
        if i > 0:
            cells[door_y, door_x] = _DOOR + i - 1

    x, y = _free_cell(rng, cells, rooms[0])
    direction = _draw(rng, 0, 4)
    cells[y, x] = _WALL  # Keeps the goal off this cell.
    goal_x, goal_y = _free_cell(rng, cells, rooms[-1])
    cells[y, x], cells[goal_y, goal_x] = _EMPTY, _GOAL
    return cells, colors, np.array([x, y, direction, goal_x, goal_y])
