"""Heatmaps over one level: the agents' visits, and the intrinsic reward by kind of action.

As the paper's fig:state_visitation_heatmaps and fig:noreward_heatmaps_fixseed_anyseed, one panel
per method, and fig:intrinsic_reward_heatmaps_n7s4, green for doors and objects, blue for moving
forward, red for turning.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import Colormap, LinearSegmentedColormap, LogNorm
from matplotlib.figure import Figure

from rllib_ride.analysis.aggregate import mean_bonus_by_cell, rooms_entered, visits_per_episode
from rllib_ride.analysis.episode_record import INTERACTIONS, Kind, Recording
from rllib_ride.analysis.level import Level
from rllib_ride.analysis.level_picture import draw_heat, letters_of

_MOST_COLUMNS = 5
_PANEL = 3.6  # inches, the longer edge


@dataclass(frozen=True)
class Panel:
    """The kinds of action that a heatmap of bonuses shows, and its colour map."""

    title: str
    kinds: frozenset[Kind]
    cmap: str


DOORS = Panel("open door", frozenset({Kind.OPEN_DOOR}), "Greens")
OBJECTS = Panel("interact with objects", INTERACTIONS, "Greens")
FORWARD = Panel("move forward", frozenset({Kind.MOVE_FORWARD}), "Blues")
TURNS = Panel("turn left or right", frozenset({Kind.TURN}), "Reds")


def draw_visits(recordings: Mapping[str, Recording], title: str) -> Figure:
    """Draws a panel per recording: the mean number of an episode's states in each cell.

    Args:
        recordings: By label, all of one level.
        title: Names the level and how it was played.
    """
    level = _level(recordings)
    visits = {
        label: visits_per_episode(recording.episodes, level.walls.shape)
        for label, recording in recordings.items()
    }
    columns = min(len(recordings), _MOST_COLUMNS)
    figure, axes = _panels(level, math.ceil(len(recordings) / columns), columns, least_width=5.6)
    most = max(float(heat.max()) for heat in visits.values())
    least = min(float(heat[heat > 0].min()) for heat in visits.values())
    norm = LogNorm(vmin=least if least < most else most / 10, vmax=most)
    for ax, (label, heat) in zip(axes.flat, visits.items(), strict=False):
        cells = np.where(heat > 0, heat, np.nan)
        image = draw_heat(ax, level, cells, _from_light("viridis_r"), norm=norm)
        _name(ax, label, _rooms(recordings[label], level))
    for ax in axes.flat[len(visits) :]:
        ax.set_axis_off()
    bar = figure.colorbar(image, ax=list(axes.flat), shrink=0.9, pad=0.02)
    bar.ax.yaxis.set_major_formatter("{x:g}")
    bar.set_label("visits an episode (states, log scale)", fontsize=9)
    _entitle(figure, title, level)
    return figure


def draw_intrinsic(recordings: Mapping[str, Recording], title: str) -> Figure:
    """Draws a row per recording: the mean bonus of actions in each cell, one panel per kind.

    The panels of a row share a scale that begins at 0. Scales differ between rows, as methods'
    bonuses have different scales.

    Args:
        recordings: By label, all of one level and with bonuses.
        title: Names the level and how it was played.
    """
    level = _level(recordings)
    panels = panels_for(recordings)
    figure, axes = _panels(level, len(recordings), len(panels))
    for row, (label, recording) in zip(axes, recordings.items(), strict=True):
        heats = [
            mean_bonus_by_cell(recording.episodes, panel.kinds, level.walls.shape)
            for panel in panels
        ]
        there = np.concatenate([heat[np.isfinite(heat)] for heat in heats])
        most = float(there.max(initial=0.0)) or 1.0
        for ax, panel, heat in zip(row, panels, heats, strict=True):
            image = draw_heat(ax, level, heat, _from_light(panel.cmap), vmin=0.0, vmax=most)
            _name(ax, label, panel.title)
            bar = figure.colorbar(image, ax=ax, shrink=0.8, pad=0.02)
            bar.ax.tick_params(labelsize=8)
        bar.set_label("mean intrinsic reward\n(before its coefficient)", fontsize=9)
    _entitle(figure, title, level)
    return figure


def panels_for(recordings: Mapping[str, Recording]) -> tuple[Panel, Panel, Panel]:
    """The panels: green shows only opening doors if there was no other interaction."""
    done = {
        kind
        for recording in recordings.values()
        for episode in recording.episodes
        for kind in episode.kinds
    }
    return DOORS if done & INTERACTIONS <= DOORS.kinds else OBJECTS, FORWARD, TURNS


def _level(recordings: Mapping[str, Recording]) -> Level:
    return next(iter(recordings.values())).level


def _panels(
    level: Level, rows: int, columns: int, least_width: float = 0.0
) -> tuple[Figure, np.ndarray]:
    """A figure with panels of the level's proportions, and its axes `[rows, columns]`."""
    left, right, top, bottom = level.window()
    cell = _PANEL / max(right - left, bottom - top)
    width, height = max(cell * (right - left), 2.4), max(cell * (bottom - top), 1.2)
    size = max(columns * (width + 0.6) + 0.5, least_width), rows * (height + 0.55) + 0.8
    figure = Figure(figsize=size, layout="constrained")
    return figure, figure.subplots(rows, columns, squeeze=False)


def _rooms(recording: Recording, level: Level) -> str:
    entered = rooms_entered(recording.episodes, level.rooms)
    return f"rooms: mean {entered.mean():.1f}, most {entered.max()} of {level.num_rooms}"


def _name(axes: Axes, label: str, subject: str) -> None:
    """Sets a panel's title; wraps a long label, such as a path."""
    axes.set_title(f"{textwrap.fill(label, 36)}\n{subject}", fontsize=10)


def _from_light(name: str) -> Colormap:
    """A colour map without its palest part, so that 0 differs from no value."""
    colors = matplotlib.colormaps[name](np.linspace(0.15, 1.0, 256))
    return LinearSegmentedColormap.from_list(f"{name}_from_light", colors)


def _entitle(figure: Figure, title: str, level: Level) -> None:
    figure.suptitle(title, fontsize=11)
    figure.supxlabel(letters_of(level), fontsize=9)
