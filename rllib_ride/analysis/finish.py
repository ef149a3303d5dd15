"""What a run leaves for its reader when it ends."""

from __future__ import annotations

from pathlib import Path

from rllib_ride.analysis.curves import draw_curves
from rllib_ride.analysis.runs import read_runs
from rllib_ride.analysis.tables import results_table, to_markdown


def write_summary(run_dir: Path) -> list[Path]:
    """Writes curves and table of the trials under `run_dir` into it, and returns their paths.

    Works on a run that was interrupted: what has been reported so far is drawn. No trial with a
    report yet: writes nothing.

    Raises:
        ValueError: A trial's files are not what a trial writes; names file and key.
    """
    runs = read_runs(run_dir)
    if all(run.curve.empty for run in runs):
        return []
    names = ("curves.png", "curves.svg", "table.md", "table.csv")
    png, svg, markdown, csv = (run_dir / name for name in names)
    figure = draw_curves(runs)
    figure.savefig(png, dpi=150)
    figure.savefig(svg)
    table = results_table(runs)
    markdown.write_text(to_markdown(table))
    table.to_csv(csv, index=False)
    return [png, svg, markdown, csv]
