"""Data of recorded episodes, and the classification of actions by their effect."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from minigrid.core.constants import DIR_TO_VEC
from numpy.typing import NDArray

from rllib_ride.analysis.level import Cell, Level

DIRECTIONS = np.array(DIR_TO_VEC)
"""(dx, dy) of MiniGrid's directions: 0 right, 1 down, 2 left, 3 up."""


class Kind(StrEnum):
    """The effect of an action on the level, whichever action was chosen."""

    OPEN_DOOR = "open door"
    OPEN_BOX = "open box"
    PICK_KEY = "pick key"
    PICK_BALL = "pick ball"
    PICK_BOX = "pick box"
    DROP_KEY = "drop key"
    DROP_BALL = "drop ball"
    DROP_BOX = "drop box"
    MOVE_FORWARD = "move forward"
    TURN = "turn left or right"
    CLOSE_DOOR = "close door"
    NO_EFFECT = "no effect"


INTERACTIONS = frozenset(Kind) - {Kind.MOVE_FORWARD, Kind.TURN, Kind.CLOSE_DOOR, Kind.NO_EFFECT}
"""What the paper's fig:intrinsic_reward_heatmaps_obstructed calls interacting with objects."""

_IN_FRONT = INTERACTIONS | {Kind.CLOSE_DOOR}


@dataclass(frozen=True)
class Facts:
    """The state of a MiniGrid level at one step, as far as `kind_of` needs it.

    Attributes:
        position: Cell of the agent.
        direction: Direction of the agent, as in `DIRECTIONS`.
        open_doors: Number of open doors.
        boxes: Number of boxes in the level.
        carries: What the agent carries: `"key"`, `"ball"`, `"box"`, or None.
    """

    position: Cell
    direction: int
    open_doors: int
    boxes: int
    carries: str | None


def kind_of(before: Facts, after: Facts) -> Kind:
    """Determines a step's effect from what it changed."""
    if after.position != before.position:
        return Kind.MOVE_FORWARD
    if after.direction != before.direction:
        return Kind.TURN
    if after.open_doors != before.open_doors:
        return Kind.OPEN_DOOR if after.open_doors > before.open_doors else Kind.CLOSE_DOOR
    if after.carries != before.carries:
        return Kind(f"pick {after.carries}" if after.carries else f"drop {before.carries}")
    return Kind.OPEN_BOX if after.boxes < before.boxes else Kind.NO_EFFECT


@dataclass(frozen=True)
class Episode:
    """An episode of T transitions.

    Attributes:
        positions: `[T + 1, 2]` ints, (x, y) cell of the agent, starting with its first.
        directions: `[T + 1]` ints, its direction, as in `DIRECTIONS`.
        kinds: `[T]`, the effect of each action.
        rewards: `[T]`, r_ext.
        bonuses: `[T]`, r_int before its coefficient; None without an intrinsic reward.
        grids: `[T + 1, width, height, 3]` uint8, MiniGrid's encoding of the level without the
            agent; None if they were not kept.
    """

    positions: NDArray[np.int64]
    directions: NDArray[np.int64]
    kinds: tuple[Kind, ...]
    rewards: NDArray[np.float64]
    bonuses: NDArray[np.float64] | None = None
    grids: NDArray[np.uint8] | None = None

    def __len__(self) -> int:
        return len(self.kinds)

    def paid(self) -> NDArray[np.float64]:
        """The bonuses, `[T]`.

        Raises:
            ValueError: The episode has none.
        """
        if self.bonuses is None:
            raise ValueError("an episode of a policy that was trained without a bonus has none")
        return self.bonuses

    def places(self) -> NDArray[np.int64]:
        """The cell in which each action took effect, `[T, 2]` (x, y).

        The agent's cell after the action, or the cell in front for an action on a door or object.
        """
        in_front = np.array([kind in _IN_FRONT for kind in self.kinds], int)  # [T]
        return self.positions[1:] + in_front[:, None] * DIRECTIONS[self.directions[1:]]


@dataclass(frozen=True)
class Recording:
    """Episodes of one policy, all in one level.

    Attributes:
        env: Environment id.
        method: Name of the intrinsic reward, or `"none"`.
        frames_trained: Transitions the policy was trained on.
        level: The level at the start of every episode.
        episodes: At least one.
    """

    env: str
    method: str
    frames_trained: int
    level: Level
    episodes: tuple[Episode, ...]
