"""Draws the intrinsic reward along one episode, as the paper's fig:intrinsic_reward_heatmaps_n7s4.

Uses its colours: green for opening doors, blue for moving forward, red for turning. Kinds of action
also have different markers.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from rllib_ride.analysis import palette
from rllib_ride.analysis.episode_record import (
    DIRECTIONS,
    INTERACTIONS,
    Episode,
    Kind,
    Recording,
)
from rllib_ride.analysis.level import Level
from rllib_ride.analysis.level_picture import draw_level, letters_of


@dataclass(frozen=True)
class KindStyle:
    """Colour, marker and legend name of a kind of action."""

    name: str
    color: str
    marker: str


_OBJECT = KindStyle("pick, drop or open box", palette.PURPLE, "D")
_IDLE = KindStyle("no effect or door closed", palette.GREY, "X")
STYLES = {
    Kind.OPEN_DOOR: KindStyle("open door", palette.GREEN, "s"),
    **dict.fromkeys(sorted(INTERACTIONS - {Kind.OPEN_DOOR}), _OBJECT),
    Kind.MOVE_FORWARD: KindStyle("move forward", palette.BLUE, "o"),
    Kind.TURN: KindStyle("turn left or right", palette.VERMILLION, "^"),
    Kind.CLOSE_DOOR: _IDLE,
    Kind.NO_EFFECT: _IDLE,
}
"""The style of each kind; some kinds share one."""


def write_episode_picture(recording: Recording, path: Path) -> Path:
    """Draws the first episode into the PNG (or SVG) file `path` and returns the path."""
    draw_episode(recording).savefig(path, dpi=150)
    return path


def draw_episode(recording: Recording) -> Figure:
    """Draws the level with the first episode's path, and next to it the bonus at each step.

    Raises:
        ValueError: The episode has no bonuses.
    """
    level, episode = recording.level, recording.episodes[0]
    figure = Figure(figsize=(12.5, 5.6), layout="constrained")
    plan, chart = figure.subplots(1, 2, width_ratios=(1, 1.25))
    _draw_path(plan, level, episode)
    draw_bonuses(chart, episode)
    steps = f"{len(episode)} step{'' if len(episode) == 1 else 's'}"
    figure.suptitle(
        f"{recording.env}: {recording.method}, return {episode.rewards.sum():.2f} in {steps}",
        fontsize=11,
    )
    figure.legend(
        *chart.get_legend_handles_labels(),
        loc="outside lower center",
        ncols=4,
        fontsize=9,
        frameon=False,
    )
    return figure


def marker_places(episode: Episode) -> NDArray[np.float64]:
    """Position of each step's marker, `[T, 2]` (x, y) in cells.

    A move's marker is between the two cells, a turn's is off the cell's centre towards the agent's
    new direction, and a door's or object's is in its own cell. So markers of different kinds do not
    hide each other.
    """
    kinds = np.array(episode.kinds)
    moves, turns = (kinds == kind for kind in (Kind.MOVE_FORWARD, Kind.TURN))
    looks = DIRECTIONS[episode.directions[1:]]
    return episode.places() - 0.5 * moves[:, None] * looks + 0.3 * turns[:, None] * looks


def _draw_path(axes: Axes, level: Level, episode: Episode) -> None:
    draw_level(axes, level)
    axes.plot(*episode.positions.T, color=palette.GREY, linewidth=1.2, zorder=2)
    left, right, top, bottom = level.window()
    cell = 300 / max(right - left, bottom - top)  # points
    bonuses = episode.paid()
    sizes = min(0.7 * cell**2, 500.0) * bonuses / (bonuses.max() or 1.0)
    x, y = marker_places(episode).T  # [T] each
    for style, steps in _looks(episode):
        axes.scatter(
            x[steps],
            y[steps],
            s=sizes[steps],
            color=style.color,
            marker=style.marker,
            edgecolor="white",
            linewidth=0.5,
            alpha=0.7,
            zorder=5,
        )
    axes.set_title("the path from A; a marker's area is the bonus", fontsize=10)
    axes.text(
        0.5,
        -0.02,
        letters_of(level),
        transform=axes.transAxes,
        ha="center",
        va="top",
        fontsize=9,
    )


def draw_bonuses(axes: Axes, episode: Episode) -> None:
    """Draws the bonus of each step in the style of its kind, and marks extrinsic rewards."""
    bonuses = episode.paid()
    for rank, (style, steps) in enumerate(_looks(episode)):
        axes.vlines(steps + 1, 0, bonuses[steps], color=style.color, linewidth=1.2, alpha=0.6)
        axes.scatter(
            steps + 1,
            bonuses[steps],
            color=style.color,
            marker=style.marker,
            s=28 if len(episode) <= 150 else 10,
            clip_on=False,
            zorder=4 - 0.1 * rank,
            label=f"{style.name}: {len(steps)}, mean {bonuses[steps].mean():.4f}",
        )
    for step in np.flatnonzero(episode.rewards):
        axes.axvline(step + 1, color="black", linestyle=":", linewidth=1)
        axes.annotate(
            f"reward {episode.rewards[step]:.2f}",
            (step + 1, 1),
            xycoords=("data", "axes fraction"),
            xytext=(-4, -4),
            textcoords="offset points",
            ha="right",
            va="top",
            fontsize=8,
        )
    axes.set_xlim(0, len(episode) + 1)
    axes.set_ylim(0, 1.15 * bonuses.max() or 1.0)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlabel("step of the episode")
    axes.set_ylabel("intrinsic reward (before its coefficient)")
    axes.grid(alpha=0.25, linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)


def _looks(episode: Episode) -> list[tuple[KindStyle, NDArray[np.int64]]]:
    """Each style that occurs in the episode, with the indices of its steps."""
    styles = [STYLES[kind] for kind in episode.kinds]  # [T]
    return [
        (style, np.flatnonzero([style == of_step for of_step in styles]))
        for style in dict.fromkeys(STYLES.values())
        if style in styles
    ]
