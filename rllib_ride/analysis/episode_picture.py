"""Draws the intrinsic reward along one episode, as the paper's fig:intrinsic_reward_heatmaps_n7s4.

Green for opening doors, blue for moving forward, red for turning, as there; each kind has a marker
of its own too.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patheffects import withStroke
from matplotlib.ticker import MaxNLocator

from rllib_ride.analysis import palette
from rllib_ride.analysis.episode_record import EpisodeRecord, Kind

DIRECTIONS = np.array([(1, 0), (0, 1), (-1, 0), (0, -1)])  # right, down, left, up


@dataclass(frozen=True)
class KindStyle:
    """Colour and marker of one kind of action."""

    color: str
    marker: str


STYLES = {
    Kind.OPEN_DOOR: KindStyle(palette.GREEN, "s"),
    Kind.MOVE_FORWARD: KindStyle(palette.BLUE, "o"),
    Kind.TURN: KindStyle(palette.VERMILLION, "^"),
    Kind.PICK_OR_DROP: KindStyle(palette.PURPLE, "D"),
    Kind.OTHER: KindStyle(palette.GREY, "X"),
}


def write_episode_picture(record: EpisodeRecord, path: Path) -> Path:
    """Draws `record` into the PNG (or SVG) file `path` and returns the path."""
    draw_episode(record).savefig(path, dpi=150)
    return path


def draw_episode(record: EpisodeRecord) -> Figure:
    """Draws the level with the path on the left and the bonus against the step on the right.

    Raises:
        ValueError: The episode has no steps, or one of a kind that is no `Kind`.
    """
    if not record.steps:
        raise ValueError("an episode to draw needs at least one step")
    figure = Figure(figsize=(12.5, 5.6), layout="constrained")
    level, bonuses = figure.subplots(1, 2, width_ratios=(1, 1.25))
    _draw_level(level, record)
    _draw_bonuses(bonuses, record)
    total = sum(step.reward for step in record.steps)
    steps = f"{len(record.steps)} step{'' if len(record.steps) == 1 else 's'}"
    figure.suptitle(f"{record.env}: {record.method}, return {total:.2f} in {steps}", fontsize=11)
    figure.legend(
        *bonuses.get_legend_handles_labels(),
        loc="outside lower center",
        ncols=len(STYLES),
        fontsize=9,
        frameon=False,
    )
    return figure


def marker_places(record: EpisodeRecord) -> np.ndarray:
    """Where each step's marker stands, [steps, 2] (x, y) in cells.

    A move's stands between the two cells, a turn's off the cell's middle towards where the agent
    now looks, and a door's or an object's in the cell it is in: markers of different kinds at one
    cell do not hide each other.
    """
    after = np.array([step.position for step in record.steps], dtype=float)
    before = np.concatenate([[record.start], after[:-1]])
    looks = DIRECTIONS[[step.direction for step in record.steps]]
    reach = {Kind.TURN: 0.3, Kind.OPEN_DOOR: 1.0, Kind.PICK_OR_DROP: 1.0}
    offsets = np.array([reach.get(Kind(step.kind), 0.0) for step in record.steps])
    return (before + after) / 2 + offsets[:, None] * looks


def level_window(record: EpisodeRecord) -> tuple[int, int, int, int]:
    """The cells worth showing, (left, right, top, bottom), right and bottom not included.

    MultiRoom levels fill a part of their grid: what looks like the grid's corner is left out, but
    for a margin of one cell.
    """
    width, height = record.size
    pixels = record.level.shape[0] // height
    tiles = record.level.reshape(height, pixels, width, pixels, 3).swapaxes(1, 2)
    used = (tiles != tiles[0, 0]).any(axis=(2, 3, 4))  # [height, width]
    if not used.any():
        return 0, width, 0, height
    rows, columns = np.flatnonzero(used.any(axis=1)), np.flatnonzero(used.any(axis=0))
    return (
        max(int(columns[0]) - 1, 0),
        min(int(columns[-1]) + 2, width),
        max(int(rows[0]) - 1, 0),
        min(int(rows[-1]) + 2, height),
    )


def _draw_level(axes: Axes, record: EpisodeRecord) -> None:
    width, height = record.size
    # Cell (x, y) has its middle at (x, y); faded, so that the markers stand out on black floors.
    extent = (-0.5, width - 0.5, height - 0.5, -0.5)
    axes.imshow(record.level, extent=extent, alpha=0.45, interpolation="none")
    left, right, top, bottom = level_window(record)
    axes.set_xlim(left - 0.5, right - 0.5)
    axes.set_ylim(bottom - 0.5, top - 0.5)
    axes.set_axis_off()

    path = np.array([record.start, *(step.position for step in record.steps)])
    axes.plot(*path.T, color="white", linewidth=1.2, zorder=2)
    outline = [withStroke(linewidth=2, foreground="white")]
    axes.text(
        *record.start, "A", ha="center", va="center", weight="bold", path_effects=outline, zorder=4
    )

    x, y = marker_places(record).T
    bonuses = _bonuses(record)
    cell = 300 / max(right - left, bottom - top)  # points
    sizes = min(0.7 * cell**2, 500.0) * bonuses / (bonuses.max() or 1.0)
    for kind, style in STYLES.items():
        of_kind = _steps_of(record, kind)
        axes.scatter(
            x[of_kind],
            y[of_kind],
            s=sizes[of_kind],
            color=style.color,
            marker=style.marker,
            edgecolor="white",
            linewidth=0.5,
            alpha=0.85,
            zorder=3,
            label=kind,
        )
    axes.set_title("the level and the path from A; a marker's area is the bonus", fontsize=10)


def _draw_bonuses(axes: Axes, record: EpisodeRecord) -> None:
    bonuses = _bonuses(record)
    for rank, (kind, style) in enumerate(STYLES.items()):
        of_kind = _steps_of(record, kind)
        if not of_kind.size:
            continue
        axes.vlines(of_kind + 1, 0, bonuses[of_kind], color=style.color, linewidth=1.2, alpha=0.6)
        axes.scatter(
            of_kind + 1,
            bonuses[of_kind],
            color=style.color,
            marker=style.marker,
            s=28,
            clip_on=False,
            zorder=4 - rank / len(STYLES),
            label=f"{kind}: {of_kind.size}, mean {bonuses[of_kind].mean():.4f}",
        )
    for number, step in enumerate(record.steps, start=1):
        if step.reward:
            axes.axvline(number, color="black", linestyle=":", linewidth=1)
            axes.annotate(
                f"reward {step.reward:.2f}",
                (number, 1),
                xycoords=("data", "axes fraction"),
                xytext=(-4, -4),
                textcoords="offset points",
                ha="right",
                va="top",
                fontsize=8,
            )
    axes.set_xlim(0, len(record.steps) + 1)
    axes.set_ylim(0, 1.15 * bonuses.max() or 1.0)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlabel("step of the episode")
    axes.set_ylabel("intrinsic reward (before its coefficient)")
    axes.grid(alpha=0.25, linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)


def _bonuses(record: EpisodeRecord) -> np.ndarray:
    return np.array([step.bonus for step in record.steps], dtype=float)


def _steps_of(record: EpisodeRecord, kind: Kind) -> np.ndarray:
    """Indices of the steps of one kind."""
    return np.flatnonzero([Kind(step.kind) is kind for step in record.steps])
