"""Whether a MiniGrid level can be solved, by search over the package's own objects."""

from __future__ import annotations

from collections import deque

from minigrid.core.world_object import Box, Door, Goal, Key, Wall, WorldObj
from minigrid.minigrid_env import MiniGridEnv

Place = tuple[int, int]


def is_solvable(env: MiniGridEnv) -> bool:
    """Whether the agent can reach a goal, or the object that the task asks for.

    Repeats a breadth-first search over the cells with the keys found so far, until no new key is
    found. A key opens every locked door of its colour, and a box yields its content. Keys, balls
    and boxes do not block the way, because an agent with free hands can carry them away.
    """
    keys: set[str] = set()
    while True:
        reached = _reached(env, keys)
        found = [obj for place in reached if (obj := env.grid.get(*place)) is not None]
        wanted = getattr(env, "obj", None)
        if any(isinstance(obj, Goal) or obj is wanted for obj in found):
            return True
        colors = {obj.color for obj in map(_taken_out, found) if isinstance(obj, Key)}
        if colors <= keys:
            return False
        keys |= colors


def _reached(env: MiniGridEnv, keys: set[str]) -> set[Place]:
    """The cells that the agent can enter or take an object from, with keys of these colours."""
    start = int(env.agent_pos[0]), int(env.agent_pos[1])
    seen, queue = {start}, deque([start])
    while queue:
        x, y = queue.popleft()
        for place in ((x + 1, y), (x - 1, y), (x, y + 1), (x, y - 1)):
            if place not in seen and _lets_through(env.grid.get(*place), keys):
                seen.add(place)
                queue.append(place)
    return seen


def _lets_through(obj: WorldObj | None, keys: set[str]) -> bool:
    if isinstance(obj, Door):
        return not obj.is_locked or obj.color in keys
    return not isinstance(obj, Wall)


def _taken_out(obj: WorldObj) -> WorldObj | None:
    return obj.contains if isinstance(obj, Box) else obj
