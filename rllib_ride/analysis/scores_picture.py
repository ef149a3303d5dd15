"""Draws interquartile means and probabilities of improvement, each with its interval."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from rllib_ride.analysis.palette import line_styles
from rllib_ride.analysis.scores import ALL_TASKS
from rllib_ride.analysis.tasks import title_of


def draw_scores(means: pd.DataFrame, better: pd.DataFrame) -> Figure:
    """Draws one row a method: its interquartile mean, and how likely the first is better than it.

    Args:
        means: What `interquartile_means` gives. Drawn are the rows over all tasks; without such,
            those of the only task, or none where there are several.
        better: What `improvements` gives.
    """
    env = ALL_TASKS if ALL_TASKS in set(means["env"]) else means["env"].iloc[0]
    if env != ALL_TASKS and means["env"].nunique() > 1:
        means = means.iloc[:0]
    means = means[means["env"] == env]
    panels = [frame for frame in (means, better) if len(frame)]
    rows = max((len(frame) for frame in panels), default=1)
    figure = Figure(figsize=(4.6 * max(len(panels), 1), 1.3 + 0.32 * rows), layout="constrained")
    axes = iter(figure.subplots(1, max(len(panels), 1), squeeze=False)[0])
    if len(means):
        panel = next(axes)
        _draw_intervals(panel, means["method"].tolist(), means[["iqm", "low", "high"]].to_numpy())
        panel.set_xlabel("interquartile mean of the return")
        panel.set_title(env if env == ALL_TASKS else title_of(env), fontsize=10)
    if len(better):
        panel = next(axes)
        values = better[["probability", "low", "high"]].to_numpy()
        _draw_intervals(panel, better["other"].tolist(), values)
        panel.axvline(0.5, color="black", linestyle=":", linewidth=1)
        panel.set_xlim(-0.03, 1.03)
        panel.set_xlabel(f"P({better['method'].iloc[0]} better than it)")
        panel.set_title("probability of improvement", fontsize=10)
    return figure


def _draw_intervals(axes: Axes, methods: list[str], values: np.ndarray) -> None:
    """One point and its bar for each of `values`, [methods, 3] (value, low, high), from the top."""
    styles = line_styles(methods)
    for row, (method, (value, low, high)) in enumerate(zip(methods, values, strict=True)):
        color = styles[method].color
        axes.plot([low, high], [row, row], color=color, linewidth=6, alpha=0.35, solid_capstyle="butt")
        axes.plot(value, row, color=color, marker="o", markersize=6, label=method)
    axes.set_yticks(range(len(methods)), methods)
    axes.set_ylim(len(methods) - 0.5, -0.5)
    axes.margins(x=0.08)
    axes.tick_params(labelsize=8)
    axes.xaxis.label.set_size(9)
    axes.grid(axis="x", alpha=0.25, linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)
