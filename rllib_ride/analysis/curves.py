"""Draws learning curves: return above, intrinsic reward below, one column of panels an env."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import EngFormatter

from rllib_ride.analysis.palette import LineStyle, line_styles, sort_key
from rllib_ride.analysis.runs import Run
from rllib_ride.analysis.seeds import SeedMean, mean_over_seeds

PANELS_ABREAST = 4
# Columns of curve.csv, each with its axis label.
ROWS = {
    "return_mean": "mean return\n(last 100 episodes)",
    "intrinsic_reward_mean": "mean intrinsic reward\n(a frame, before its coefficient)",
}
LEGEND_TITLE = "mean and standard deviation over seeds; faint: some seeds have no value there"


def draw_curves(runs: Sequence[Run]) -> Figure:
    """Draws mean and standard deviation over the seeds of each env and method.

    A line is strong where every seed has a value and faint where some have none: a run still
    going on, an episode not yet ended. The legend tells the number of seeds, `2 to 5` if it
    differs between envs.
    """
    envs = sorted({run.env for run in runs})
    styles = line_styles(sorted({run.label for run in runs}, key=sort_key))
    abreast = min(len(envs), PANELS_ABREAST)
    bands = -(-len(envs) // abreast)
    figure = Figure(figsize=(max(7.0, 1.2 + 4.2 * abreast), 5.6 * bands), layout="constrained")
    axes = figure.subplots(2 * bands, abreast, squeeze=False)
    for panel in axes.flat:
        panel.set_visible(False)
    for index, env in enumerate(envs):
        band, column = divmod(index, abreast)
        above, below = axes[2 * band : 2 * band + 2, column]
        of_env = [run for run in runs if run.env == env]
        for panel, value in zip((above, below), ROWS, strict=True):
            _draw_panel(panel, of_env, value, styles)
            panel.set_ylabel(ROWS[value] if column == 0 else "", fontsize=9)
        above.set_title(env, fontsize=10)
        above.tick_params(labelbottom=False)
        below.set_xlabel("frames")
        below.sharex(above)
    _add_legend(figure, runs, styles)
    return figure


def _draw_panel(axes: Axes, runs: Sequence[Run], value: str, styles: dict[str, LineStyle]) -> None:
    means: dict[str, SeedMean] = {}
    for rank, (label, style) in enumerate(styles.items()):
        of_label = [run for run in runs if run.label == label]
        mean = mean_over_seeds(of_label, value)
        if mean is None:
            continue
        means[label] = mean
        look: dict[str, Any] = {
            "color": style.color,
            "linestyle": style.dashes,
            "marker": "o" if len(mean.frames) == 1 else None,
            "zorder": 3 - rank / len(styles),  # the first of the legend on top
        }
        of_every_seed = np.where(mean.seeds == len(of_label), mean.mean, np.nan)
        axes.plot(mean.frames, mean.mean, **look, linewidth=1.0, alpha=0.4)
        axes.plot(mean.frames, of_every_seed, **look, linewidth=1.8, label=label)
        low, high = mean.mean - mean.std, mean.mean + mean.std
        axes.fill_between(mean.frames, low, high, color=style.color, alpha=0.15, linewidth=0)
    if value == "intrinsic_reward_mean" and _differ_tenfold(means.values()):
        axes.set_yscale("log")
    axes.set_visible(True)
    axes.xaxis.set_major_formatter(EngFormatter(sep=""))
    axes.grid(alpha=0.25, linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)


def _differ_tenfold(means: Iterable[SeedMean]) -> bool:
    """Whether bonuses of different scales would press each other flat on a linear axis."""
    largest = [np.nanmax(mean.mean) for mean in means]
    positive = [value for value in largest if value > 0]
    return bool(positive) and max(positive) > 10 * min(positive)


def _add_legend(figure: Figure, runs: Sequence[Run], styles: dict[str, LineStyle]) -> None:
    texts = {
        label: f"{label}, {_seed_count([run for run in runs if run.label == label])}"
        for label in styles
    }
    handles = [
        Line2D([], [], color=s.color, linestyle=s.dashes, linewidth=1.8, label=texts[label])
        for label, s in styles.items()
    ]
    # About 13 characters of legend an inch, 5 more for the handle and the gap.
    columns = max(1, int(figure.get_figwidth() * 13 / (max(map(len, texts.values())) + 5)))
    columns = min(columns, len(handles))
    rows = -(-len(handles) // columns) + 1
    figure.set_figheight(figure.get_figheight() + 0.2 * rows)
    figure.legend(
        handles=handles,
        title=LEGEND_TITLE if len(runs) > len({(run.env, run.label) for run in runs}) else None,
        loc="outside lower center",
        ncols=columns,
        fontsize=9,
        title_fontsize=9,
        handlelength=3,
        frameon=False,
    )


def _seed_count(runs: Sequence[Run]) -> str:
    counts = [sum(run.env == env for run in runs) for env in {run.env for run in runs}]
    few, many = min(counts), max(counts)
    number = str(many) if few == many else f"{few} to {many}"
    return f"{number} seed{'' if many == 1 else 's'}"
