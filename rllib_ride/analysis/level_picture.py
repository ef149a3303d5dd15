"""Draws a level as a plan: grey walls, and letters for objects."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import Colormap
from matplotlib.image import AxesImage
from matplotlib.patches import Rectangle
from matplotlib.patheffects import withStroke
from minigrid.core.constants import COLORS
from numpy.typing import NDArray

from rllib_ride.analysis import palette
from rllib_ride.analysis.level import NAMES, Level

_WALL = (0.6, 0.6, 0.6, 1.0)
_PLAN = 245.0  # points, approximate length of a plan's longer edge in a figure


def draw_level(axes: Axes, level: Level) -> None:
    """Draws the plan; cell (x, y) has its centre at (x, y), y downwards.

    The agent's start and all objects have a letter, see `letters_of`. Objects, including doors,
    have a frame of their colour.
    """
    height, width = level.walls.shape
    left, right, top, bottom = level.window()
    size = min(max(0.55 * _PLAN / max(right - left, bottom - top), 5.0), 11.0)  # points
    plan = np.zeros((height, width, 4))  # transparent
    plan[level.walls] = _WALL
    axes.imshow(plan, extent=_extent(level), interpolation="none", zorder=3)
    for thing in level.things:
        x, y = thing.cell
        frame = np.array(COLORS[thing.color]) / 255
        axes.add_patch(
            Rectangle((x - 0.42, y - 0.42), 0.84, 0.84, fill=False, ec=frame, lw=1.6, zorder=4)
        )
        _write(axes, thing.letter, x, y, size)
    _write(axes, "A", *level.start, size)
    axes.set_xlim(left - 0.5, right - 0.5)
    axes.set_ylim(bottom - 0.5, top - 0.5)
    axes.set_aspect("equal")
    axes.set_axis_off()


def draw_heat(
    axes: Axes, level: Level, values: NDArray[np.float64], cmap: Colormap | str, **norm: object
) -> AxesImage:
    """Colours the cells of a level by `values`, `[height, width]`; leaves out NaN.

    Args:
        axes: Axes to draw in.
        level: Drawn on top.
        values: One per cell.
        cmap: Colour map.
        **norm: `vmin` and `vmax`, or `norm`, as in `Axes.imshow`.

    Returns:
        The image, for a colour bar.
    """
    heat = np.ma.masked_invalid(values)
    image = axes.imshow(
        heat,
        extent=_extent(level),
        cmap=cmap,
        interpolation="none",
        zorder=2,
        **norm,  # type: ignore[arg-type]
    )
    draw_level(axes, level)
    return image


def letters_of(level: Level) -> str:
    """Legend of the letters in a level's plan."""
    letters = {"A", *(thing.letter for thing in level.things)}
    return ",  ".join(f"{letter}: {name}" for letter, name in NAMES.items() if letter in letters)


def _extent(level: Level) -> tuple[float, float, float, float]:
    height, width = level.walls.shape
    return -0.5, width - 0.5, height - 0.5, -0.5


def _write(axes: Axes, letter: str, x: float, y: float, size: float) -> None:
    axes.text(
        x,
        y,
        letter,
        ha="center",
        va="center_baseline",
        fontsize=size,
        color=palette.BLACK,
        path_effects=[withStroke(linewidth=1.5, foreground="white")],
        zorder=6,
    )
