"""The paper's tasks as its figures show them: their order, and the return that solves each."""

from __future__ import annotations

from rllib_ride.envs.registration import (
    KEY_CORRIDOR_ID,
    NOISY_TV_ID,
    OBSTRUCTED_MAZE_ID,
    multiroom_id,
)

# The panels of fig:minigrid, four a row. The text fixes two of them, the noisy TV as the second
# above and the obstructed maze as the third below; the others are by number of rooms.
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

# An optimal policy's return is 1 - 0.9 * (length of its episode) / (time limit) or somewhat less:
# by these a task is solved, not just now and then. The paper names no threshold.
_THRESHOLDS = {multiroom_id(7, 4): 0.6, multiroom_id(10, 4): 0.6, KEY_CORRIDOR_ID: 0.6}
_OTHER_THRESHOLD = 0.5


def threshold_of(env: str) -> float:
    """The mean return over 100 episodes at which the task counts as solved."""
    return _THRESHOLDS.get(env, _OTHER_THRESHOLD)


def task_key(task: str) -> tuple[int, str]:
    """Sorts tasks as figures and tables show them: fig:minigrid's, then the others by name."""
    known = task in MINIGRID_FIGURE
    return (MINIGRID_FIGURE.index(task) if known else len(MINIGRID_FIGURE)), task


def title_of(task: str) -> str:
    """A task's id without what most have in common."""
    return task.removeprefix("MiniGrid-").replace("-v0", "", 1)
