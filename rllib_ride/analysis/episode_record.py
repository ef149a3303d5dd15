"""One episode, told step by step in plain data, and the kind of thing each action did."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np


class Kind(StrEnum):
    """What an action did to the level, as the paper's tab:intrinsic_reward_n7s4 sorts actions."""

    OPEN_DOOR = "open door"
    MOVE_FORWARD = "move forward"
    TURN = "turn left or right"
    PICK_OR_DROP = "pick up or drop"
    OTHER = "other"


@dataclass(frozen=True)
class Facts:
    """What `kind_of` must know of a MiniGrid level at one moment.

    Attributes:
        position: (x, y) cell of the agent, x to the right and y downwards, as in MiniGrid.
        direction: Where it looks: 0 right, 1 down, 2 left, 3 up.
        open_doors: How many doors of the level are open.
        carries: Whether it carries an object.
    """

    position: tuple[int, int]
    direction: int
    open_doors: int
    carries: bool


def kind_of(before: Facts, after: Facts) -> Kind:
    """Tells what a step did by what changed: an action without effect is `OTHER`."""
    if after.open_doors > before.open_doors:
        return Kind.OPEN_DOOR
    if after.position != before.position:
        return Kind.MOVE_FORWARD
    if after.direction != before.direction:
        return Kind.TURN
    if after.carries != before.carries:
        return Kind.PICK_OR_DROP
    return Kind.OTHER


@dataclass(frozen=True)
class Step:
    """One transition.

    Attributes:
        position: (x, y) cell of the agent after the action.
        direction: Where it looks after the action: 0 right, 1 down, 2 left, 3 up.
        action: Name of the action.
        kind: One of `Kind`, what the action did.
        bonus: r_int, before its coefficient.
        reward: r_ext.
    """

    position: tuple[int, int]
    direction: int
    action: str
    kind: str
    bonus: float
    reward: float


@dataclass(frozen=True)
class EpisodeRecord:
    """One episode and the level it was played in.

    Attributes:
        env: Environment id.
        method: Intrinsic reward that gave the bonuses.
        level: [height * p, width * p, 3] uint8 RGB picture of the level at the start, p pixels a
            cell, best without the agent's view highlighted.
        size: (width, height) of the level in cells.
        start: (x, y) cell where the agent starts.
        steps: The transitions in order, at least one.
    """

    env: str
    method: str
    level: np.ndarray
    size: tuple[int, int]
    start: tuple[int, int]
    steps: Sequence[Step]
