"""Writes a run's curves and table when it ends."""

from __future__ import annotations

import sys
from pathlib import Path

from matplotlib.figure import Figure

from rllib_ride.analysis.curves import draw_curves
from rllib_ride.analysis.runs import read_runs
from rllib_ride.analysis.tables import results_rows, results_table, to_markdown


def write_summary(run_dir: Path) -> list[Path]:
    """Writes curves and table of the trials under `run_dir` into it, and returns their paths.

    For an interrupted run, draws the reports so far; without any report, writes nothing. Leaves out
    what cannot be read, with a note on stderr.
    """
    readings = read_runs([run_dir])
    for note in readings.notes:
        print(note, file=sys.stderr)
    runs = readings.runs
    if all(run.curve.empty for run in runs):
        return []
    table = results_table(runs)
    markdown, csv = run_dir / "table.md", run_dir / "table.csv"
    markdown.write_text(to_markdown(results_rows(table)), encoding="utf-8")
    table.to_csv(csv, index=False)
    return [*save_figure(draw_curves(runs), run_dir / "curves"), markdown, csv]


def save_figure(figure: Figure, stem: Path) -> list[Path]:
    """Writes the figure as `stem`.png and `stem`.svg, and returns their paths."""
    png, svg = stem.with_suffix(".png"), stem.with_suffix(".svg")
    figure.savefig(png, dpi=150)
    figure.set_layout_engine("none")  # reuse the layout of the first file
    figure.savefig(svg)
    return [png, svg]
