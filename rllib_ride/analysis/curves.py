"""Draws learning curves: a panel per task, a line per method, a band for the spread of seeds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import EngFormatter, MaxNLocator

from rllib_ride.analysis.palette import LineStyle, line_styles, literal, sort_key
from rllib_ride.analysis.runs import Run
from rllib_ride.analysis.seeds import RETURN, SeedMean, mean_over_seeds
from rllib_ride.analysis.tasks import task_key, title_of

PANELS_ABREAST = 4
PANEL_SIZE = (3.9, 2.9)  # inches
BONUS = "intrinsic_reward_mean"
# A legend with more entries than the first is at least the second wide, in inches.
SHORT_LEGEND, LEGEND_WIDTH = 12, 7.5
LEGEND_CHARACTERS = 14  # an inch
# Columns of curve.csv, each with its axis label.
VALUES = {
    RETURN: "mean return\n(last 100 episodes)",
    BONUS: "mean intrinsic reward\n(a frame, before its coefficient)",
}
LEGEND_TITLE = "mean and standard deviation over seeds;\nfaint: some seeds have no value there"


def draw_curves(
    runs: Sequence[Run],
    values: Sequence[str] = tuple(VALUES),
    styles: Mapping[str, LineStyle] | None = None,
) -> Figure:
    """Draws mean and standard deviation over the seeds of each task and method.

    A line is strong where every seed has a value, and faint where some have none: a run that ended
    early or is still running, or has not yet ended an episode. The legend shows the number of
    seeds, `2 to 5` if it differs between tasks.

    Args:
        runs: Some may have no reports.
        values: Columns of `VALUES`, one panel each, stacked vertically.
        styles: By label, for the labels of these runs and maybe others, to draw several figures in
            the same styles.
    """
    tasks = sorted({run.task for run in runs}, key=task_key)
    labels = labels_of(runs)
    known = styles or line_styles(labels)
    styles = {label: known[label] for label in labels}
    abreast = min(len(tasks), PANELS_ABREAST)
    bands = -(-len(tasks) // abreast)
    width, height = PANEL_SIZE
    legend = _legend_texts(runs, labels)
    entry = (max(map(len, legend.values())) + 9) / LEGEND_CHARACTERS  # 9 for handle and gaps
    wanted = max(entry, LEGEND_WIDTH) if len(labels) > SHORT_LEGEND else entry
    width = max(0.6 + width * abreast, wanted)
    figure = Figure(figsize=(width, height * len(values) * bands), layout="constrained")
    axes = figure.subplots(len(values) * bands, abreast, squeeze=False)
    for panel in axes.flat:
        panel.set_visible(False)
    for index, task in enumerate(tasks):
        band, column = divmod(index, abreast)
        panels = axes[len(values) * band :, column][: len(values)]
        of_task = [run for run in runs if run.task == task]
        for panel, value in zip(panels, values, strict=True):
            _draw_panel(panel, of_task, value, styles)
            panel.set_ylabel(VALUES[value] if column == 0 else "", fontsize=9)
            panel.sharex(panels[0])
            panel.tick_params(labelbottom=panel is panels[-1])
        panels[0].set_title(literal(title_of(task)), fontsize=10)
        panels[-1].set_xlabel("frames", fontsize=9)
    has_seeds = len(runs) > len({(run.task, run.label) for run in runs})
    _add_legend(
        figure,
        legend,
        styles,
        columns=int(width / entry),
        title=LEGEND_TITLE if has_seeds else None,
    )
    return figure


def curve_table(runs: Sequence[Run]) -> pd.DataFrame:
    """The points that `draw_curves` joins, one row each.

    Columns:
        env, method: Task with its options, and method with its variant.
        value: The column of curve.csv.
        frames, mean, std: The point; `std` is NaN for fewer than two seeds with a value.
        seeds, seeds_run: Number of seeds with a value there, and of seeds started.
    """
    tables = []
    for task in sorted({run.task for run in runs}, key=task_key):
        for label in labels_of(runs):
            seeds = [run for run in runs if (run.task, run.label) == (task, label)]
            for value in VALUES:
                mean = mean_over_seeds(seeds, value)
                if mean is not None:
                    of_whom = {"env": task, "method": label, "value": value}
                    tables.append(pd.DataFrame({**of_whom, **vars(mean), "seeds_run": len(seeds)}))
    return pd.concat(tables, ignore_index=True)


def labels_of(runs: Iterable[Run]) -> list[str]:
    """The runs' labels, in the order of the legend."""
    return sorted({run.label for run in runs}, key=sort_key)


def has_values(runs: Iterable[Run], value: str) -> bool:
    """Whether any run has a value to draw."""
    return any(run.curve[value].notna().any() for run in runs)


def _draw_panel(
    axes: Axes, runs: Sequence[Run], value: str, styles: Mapping[str, LineStyle]
) -> None:
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
    if value == BONUS and _differ_tenfold(means.values()):
        axes.set_yscale("log")
    if value == RETURN and means:
        _set_return_limits(axes, means.values())
    if not means:
        axes.text(0.5, 0.5, "no value yet", transform=axes.transAxes, ha="center", va="center")
    axes.set_visible(True)
    axes.xaxis.set_major_locator(MaxNLocator(5))
    axes.xaxis.set_major_formatter(EngFormatter(sep=""))
    axes.tick_params(labelsize=8)
    axes.grid(alpha=0.25, linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)


def _set_return_limits(axes: Axes, means: Iterable[SeedMean]) -> None:
    """Uses the same scale for all tasks with returns within [-1, 1], whatever was reached."""
    drawn = [[np.nanmin(mean.mean), np.nanmax(mean.mean)] for mean in means]
    if np.abs(drawn).max() <= 1:
        axes.set_ylim(-0.03 if np.min(drawn) >= 0 else -1.03, 1.03)


def _differ_tenfold(means: Iterable[SeedMean]) -> bool:
    """Whether the largest bonuses differ so much that a linear axis would flatten some."""
    largest = [np.nanmax(mean.mean) for mean in means]
    positive = [value for value in largest if value > 0]
    return bool(positive) and max(positive) > 10 * min(positive)


def _legend_texts(runs: Sequence[Run], labels: Iterable[str]) -> dict[str, str]:
    """Each label with its number of seeds."""
    return {
        label: f"{label}, {_seed_count([run for run in runs if run.label == label])}"
        for label in labels
    }


def _add_legend(
    figure: Figure,
    texts: Mapping[str, str],
    styles: Mapping[str, LineStyle],
    *,
    columns: int,
    title: str | None,
) -> None:
    """Adds a legend below the panels and extends the figure by its height."""
    handles = [
        Line2D(
            [], [], color=s.color, linestyle=s.dashes, linewidth=1.8, label=literal(texts[label])
        )
        for label, s in styles.items()
    ]
    rows = -(-len(handles) // columns) + 2
    figure.set_figheight(figure.get_figheight() + 0.2 * rows)
    figure.legend(
        handles=handles,
        title=title,
        loc="outside lower center",
        ncols=min(columns, len(handles)),
        fontsize=9,
        title_fontsize=8,
        handlelength=2.4,
        columnspacing=1.2,
        frameon=False,
    )


def _seed_count(runs: Sequence[Run]) -> str:
    counts = [sum(run.task == task for run in runs) for task in {run.task for run in runs}]
    few, many = min(counts), max(counts)
    number = str(many) if few == many else f"{few} to {many}"
    return f"{number} seed{'' if many == 1 else 's'}"
