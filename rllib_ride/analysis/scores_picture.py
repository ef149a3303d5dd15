"""Draws interquartile means and probabilities of improvement with their intervals."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from rllib_ride.analysis.palette import LineStyle, literal
from rllib_ride.analysis.scores import ALL_TASKS
from rllib_ride.analysis.tasks import title_of


def draw_scores(
    means: pd.DataFrame, better: pd.DataFrame, styles: Mapping[str, LineStyle]
) -> Figure:
    """Draws a row per method: its interquartile mean, and P(first method is better).

    Args:
        means: The result of `interquartile_means`. Draws the rows of all tasks, or of the only
            task; draws none of several tasks without rows of all tasks.
        better: The result of `improvements`. Either may be empty.
        styles: By method, for every method in them.
    """
    means = _of_one_env(means)
    tables = [table for table in (means, better) if len(table)]
    rows = max(map(len, tables), default=1)
    width = 3.4 + 0.075 * max(map(len, styles))  # of a panel, with the names beside it
    figure = Figure(figsize=(width * max(len(tables), 1), 1.3 + 0.3 * rows), layout="constrained")
    panels = iter(figure.subplots(1, max(len(tables), 1), squeeze=False)[0])
    if len(means):
        panel = next(panels)
        values = means[["iqm", "low", "high"]].to_numpy()
        _draw_intervals(panel, means["method"].tolist(), values, styles)
        panel.set_xlabel("interquartile mean of the return", fontsize=9)
        panel.set_title(literal(title_of(means["env"].iloc[0])), fontsize=10)
    if len(better):
        panel = next(panels)
        values = better[["probability", "low", "high"]].to_numpy()
        _draw_intervals(panel, better["other"].tolist(), values, styles)
        panel.axvline(0.5, color="black", linestyle=":", linewidth=1)
        panel.set_xlim(-0.03, 1.03)
        panel.set_xlabel("probability of improvement", fontsize=9)
        panel.set_title(literal(f"{better['method'].iloc[0]} over each other"), fontsize=10)
    return figure


def _of_one_env(means: pd.DataFrame) -> pd.DataFrame:
    envs = means["env"].unique() if len(means) else []
    env = ALL_TASKS if ALL_TASKS in envs else envs[0] if len(envs) == 1 else None
    return means[means["env"] == env] if len(means) else means


def _draw_intervals(
    axes: Axes, methods: list[str], values: np.ndarray, styles: Mapping[str, LineStyle]
) -> None:
    """Draws a point and a bar for each of `values`, [methods, 3] (value, low, high), top down."""
    for row, (method, (value, low, high)) in enumerate(zip(methods, values, strict=True)):
        color = styles[method].color
        if low == low:
            axes.hlines(row, low, high, color=color, linewidth=6, alpha=0.35)
        axes.plot(value, row, color=color, marker="o", markersize=6, label=method)
    axes.set_yticks(range(len(methods)), [literal(method) for method in methods])
    axes.set_ylim(len(methods) - 0.5, -0.5)
    axes.margins(x=0.08)
    axes.tick_params(labelsize=8)
    axes.grid(axis="x", alpha=0.25, linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)
