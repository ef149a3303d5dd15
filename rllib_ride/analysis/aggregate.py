"""Statistics of recorded episodes: visits, bonuses by cell and by kind of action, rooms."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rllib_ride.analysis.episode_record import Episode, Kind


def visits_per_episode(episodes: Sequence[Episode], shape: tuple[int, ...]) -> NDArray[np.float64]:
    """The mean number of an episode's states in each cell.

    Args:
        episodes: At least one.
        shape: (height, width).

    Returns:
        `[height, width]`; sums to the mean of T + 1.
    """
    visits = np.zeros(shape)
    for episode in episodes:
        x, y = episode.positions.T  # [T + 1] each
        np.add.at(visits, (y, x), 1.0)
    return visits / len(episodes)


def mean_bonus_by_cell(
    episodes: Sequence[Episode], kinds: Collection[Kind], shape: tuple[int, ...]
) -> NDArray[np.float64]:
    """The mean bonus, by cell, of actions of the given kinds that took effect there.

    Args:
        episodes: With bonuses.
        kinds: Kinds of action.
        shape: (height, width).

    Returns:
        `[height, width]`, NaN where there was no such action.
    """
    total, count = np.zeros(shape), np.zeros(shape)
    for episode in episodes:
        chosen = _are(episode, kinds)
        x, y = episode.places()[chosen].T
        np.add.at(total, (y, x), episode.paid()[chosen])
        np.add.at(count, (y, x), 1.0)
    return np.divide(total, count, out=np.full(shape, np.nan), where=count > 0)


def rooms_entered(episodes: Sequence[Episode], rooms: NDArray[np.int64]) -> NDArray[np.int64]:
    """The number of distinct rooms visited in each episode, including the first: `[episodes]`.

    Args:
        episodes: In this level.
        rooms: `[height, width]`, the room's number on floor cells and 0 elsewhere.
    """
    entered = []
    for episode in episodes:
        x, y = episode.positions.T
        entered.append(len(np.setdiff1d(rooms[y, x], [0])))
    return np.array(entered)


@dataclass(frozen=True)
class BonusStats:
    """Statistics of the intrinsic reward over a number of actions.

    Attributes:
        count: Number of actions.
        mean: NaN if there are none.
        std: Over actions, not over episodes; NaN if there are none.
    """

    count: int
    mean: float
    std: float


def bonus_stats(episodes: Sequence[Episode], kinds: Collection[Kind]) -> BonusStats:
    """Statistics of all actions of the given kinds in episodes with bonuses."""
    bonuses = np.concatenate([episode.paid()[_are(episode, kinds)] for episode in episodes])
    if not len(bonuses):
        return BonusStats(0, np.nan, np.nan)
    return BonusStats(len(bonuses), float(bonuses.mean()), float(bonuses.std()))


def _are(episode: Episode, kinds: Collection[Kind]) -> NDArray[np.bool_]:
    """Mask of the actions of the given kinds, `[T]`."""
    return np.array([kind in kinds for kind in episode.kinds], bool)
