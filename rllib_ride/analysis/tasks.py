"""The paper's tasks: their order in its figures, and the return that solves each."""

from __future__ import annotations

from rllib_ride.envs.registration import (
    KEY_CORRIDOR_ID,
    NOISY_TV_ID,
    OBSTRUCTED_MAZE_ID,
    multiroom_id,
)

# The panels of fig:minigrid, four per row. The paper's text fixes the position of two: the noisy TV
# is second in the upper row, the obstructed maze third in the lower. The others are sorted by the
# number of rooms.
MINIGRID_FIGURE = (
    multiroom_id(7, 4),
    NOISY_TV_ID,
    multiroom_id(7, 8),
    multiroom_id(10, 4),
    multiroom_id(10, 10),
    multiroom_id(12, 10),
    OBSTRUCTED_MAZE_ID,
    KEY_CORRIDOR_ID,
)

# An optimal policy's return is 1 - 0.9 * (length of its episode) / (time limit), or slightly less.
# Reaching these means solving a task reliably. The paper names no threshold.
_THRESHOLDS = {multiroom_id(7, 4): 0.6, multiroom_id(10, 4): 0.6, KEY_CORRIDOR_ID: 0.6}
_OTHER_THRESHOLD = 0.5


def threshold_of(env: str) -> float:
    """The mean return over 100 episodes at which the task counts as solved."""
    return _THRESHOLDS.get(env, _OTHER_THRESHOLD)


def task_key(task: str) -> tuple[int, str]:
    """Sort key of figures and tables: the tasks of fig:minigrid first, then the others by name."""
    known = task in MINIGRID_FIGURE
    return (MINIGRID_FIGURE.index(task) if known else len(MINIGRID_FIGURE)), task


def title_of(task: str) -> str:
    """A task's id without the prefix and suffix that most share."""
    return task.removeprefix("MiniGrid-").replace("-v0", "", 1)
