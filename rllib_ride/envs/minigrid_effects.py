"""What a step of each of the `minigrid` package's classes may change in the grid.

The vector environment re-reads only what a step may have changed. That is safe only for code that
was reviewed, so classes are listed here by name and everything else is `UNKNOWN`. Classes of a
newer `minigrid` or of a user work too, but with their own views, which is slower.

Reviewed in minigrid 3.2. `MiniGridEnv.step` changes at most one cell, the one in front of the
agent, on pickup, drop and toggle. The only implementations of `toggle`, `Door.toggle` and
`Box.toggle`, act on that cell. The classes below call `MiniGridEnv.step` and then only inspect the
result (`MemoryEnv` toggles on pickup, still in front; `RoomGridLevel`, the base of BabyAI, checks
its instructions). `DynamicObstaclesEnv` moves its balls first. This project's own classes are also
listed.
"""

from __future__ import annotations

import enum

from minigrid.minigrid_env import MiniGridEnv


class Effect(enum.Enum):
    """Where one step may change the grid."""

    FRONT = "the cell in front of the agent, on pickup, drop and toggle"
    LISTED = "as FRONT, and what the environment carries and its `changed_cells(action)`"
    ANYWHERE = "any cell, before the view is taken"
    UNKNOWN = "nobody has looked"


_STEP_EFFECTS = {
    "MiniGridEnv": Effect.FRONT,
    "BlockedUnlockPickupEnv": Effect.FRONT,
    "DynamicObstaclesEnv": Effect.ANYWHERE,
    "FetchEnv": Effect.FRONT,
    "GoToDoorEnv": Effect.FRONT,
    "GoToObjectEnv": Effect.FRONT,
    "KeyCorridorEnv": Effect.FRONT,
    "MemoryEnv": Effect.FRONT,
    "MultiRoomNoisyTVEnv": Effect.LISTED,
    "ObstructedMazeEnv": Effect.FRONT,
    "PutNearEnv": Effect.FRONT,
    "RedBlueDoorEnv": Effect.FRONT,
    "RoomGridLevel": Effect.FRONT,
    "UnlockEnv": Effect.FRONT,
    "UnlockPickupEnv": Effect.FRONT,
}
_READ_MODULES = ("minigrid.", "rllib_ride.envs.")
_VIEW_METHODS = {"gen_obs", "gen_obs_grid", "get_view_exts"}


def step_effect(cls: type[MiniGridEnv]) -> Effect:
    """Where a step of `cls` may change the grid, judged by all `step` methods it inherits."""
    effects = []
    for base in cls.__mro__[: cls.__mro__.index(MiniGridEnv) + 1]:
        if not base.__module__.startswith(_READ_MODULES):
            return Effect.UNKNOWN
        if base is not MiniGridEnv and _VIEW_METHODS & vars(base).keys():
            return Effect.UNKNOWN
        if "step" in vars(base):
            effects.append(_STEP_EFFECTS.get(base.__name__, Effect.UNKNOWN))
    for effect in (Effect.UNKNOWN, Effect.ANYWHERE, Effect.LISTED):
        if effect in effects:
            return effect
    return Effect.FRONT
