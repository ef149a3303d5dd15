"""Writes the report on runs: figures, tables, and one HTML page with all of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from rllib_ride.analysis import page
from rllib_ride.analysis.captions import CAPTIONS, LEFT_OUT, SCORED, SOLVED
from rllib_ride.analysis.curves import (
    BONUS,
    RETURN,
    VALUES,
    curve_table,
    draw_curves,
    has_values,
    labels_of,
)
from rllib_ride.analysis.finish import save_figure
from rllib_ride.analysis.palette import LineStyle, line_styles
from rllib_ride.analysis.provenance import made_by
from rllib_ride.analysis.runs import Readings, Run
from rllib_ride.analysis.scores import improvements, interquartile_means, scores
from rllib_ride.analysis.scores_picture import draw_scores
from rllib_ride.analysis.tables import (
    improvement_rows,
    mean_rows,
    results_rows,
    results_table,
    runs_rows,
    runs_table,
    to_markdown,
)
from rllib_ride.analysis.tasks import task_key, title_of

ABLATIONS = ("only_episodic_counts", "no_episodic_counts", "no_entropy_no_episodic_counts")


@dataclass(frozen=True)
class Tables:
    """The report's tables; the last two are empty without rliable or without scores."""

    results: pd.DataFrame
    runs: pd.DataFrame
    means: pd.DataFrame
    improvements: pd.DataFrame


def write_report(
    readings: Readings, out: Path, *, command: str, threshold: float | None = None
) -> tuple[list[Path], list[str]]:
    """Writes `index.html`, figures as PNG and SVG and tables as CSV and Markdown into `out`.

    Args:
        readings: The result of `read_runs`. May include partial, running and failed runs, which are
            marked as such.
        out: Folder, created if it is missing.
        command: The command line that writes this report, shown so that readers can repeat it.
        threshold: The return that counts as solved; None: each task's own.

    Returns:
        Paths of all files, `index.html` first, and the report's notes: those of `readings`, and
        what could not be computed.

    Raises:
        ValueError: No run has reported a return or an intrinsic reward.
    """
    runs = readings.runs
    if not any(has_values(runs, value) for value in VALUES):
        raise ValueError(
            "\n".join(
                [
                    *readings.notes,
                    "no run has anything to report yet: neither a return nor an intrinsic reward",
                ]
            )
        )
    tables, notes = _tables(runs, threshold)
    notes = [*readings.notes, *notes]
    made = made_by(command, runs)
    out.mkdir(parents=True, exist_ok=True)
    files = [out / "index.html", out / "tables.md"]
    parts = _parts(runs, tables, notes, made)
    # A folder's name may not be valid UTF-8.
    told: dict[str, Any] = {"encoding": "utf-8", "errors": "backslashreplace"}
    files[0].write_text(page.page(title(runs), parts), **told)
    files[1].write_text("\n".join(_markdown(runs, tables, notes, made)), **told)
    for name, figure in _figures(runs, tables):
        files += save_figure(figure, out / name)
    csv = {"curves": curve_table(runs), **vars(tables)}
    for name, table in csv.items():
        if len(table):
            table.to_csv(out / f"{name}.csv", index=False, **told)
            files.append(out / f"{name}.csv")
    return files, notes


def _tables(runs: Sequence[Run], threshold: float | None) -> tuple[Tables, list[str]]:
    scored = scores(runs)
    means, better, notes = pd.DataFrame(), pd.DataFrame(), []
    if len(scored):
        try:
            means, better = interquartile_means(scored), improvements(scored)
        except ImportError:
            notes.append(
                "no interquartile means: they need rliable, pip install 'rllib-ride[report]'"
            )
    return Tables(results_table(runs, threshold), runs_table(runs), means, better), notes


def drawn_runs(runs: Sequence[Run]) -> dict[str, tuple[list[Run], str]]:
    """The figures of curves that are not empty: by name, the runs and the column of curve.csv."""
    compared = [run for run in runs if run.method not in ABLATIONS]
    ablated = {run.task for run in runs if run.method in ABLATIONS}
    ablations = [r for r in runs if r.task in ablated and r.method in ("ride", *ABLATIONS)]
    paid = {(run.task, run.label) for run in runs if has_values([run], BONUS)}
    figures = {
        "curves": (compared or ablations, RETURN),
        "intrinsic": ([run for run in runs if (run.task, run.label) in paid], BONUS),
        "ablations": (ablations if compared else [], RETURN),
    }
    return {name: (of, value) for name, (of, value) in figures.items() if of}


def _figures(runs: Sequence[Run], tables: Tables) -> Iterator[tuple[str, Figure]]:
    styles = line_styles(labels_of(runs))
    for name, (drawn, value) in drawn_runs(runs).items():
        yield name, draw_curves(drawn, [value], styles)
    if len(tables.means):
        yield "scores", draw_scores(tables.means, tables.improvements, styles)


def _parts(
    runs: Sequence[Run], tables: Tables, notes: Sequence[str], made: Sequence[str]
) -> Iterator[str]:
    styles = line_styles(labels_of(runs))
    yield page.paragraph(states(runs))
    yield page.bullets(notes)
    names = {"curves": "Learning curves", "intrinsic": "Intrinsic reward", "ablations": "Ablations"}
    for name, (drawn, value) in drawn_runs(runs).items():
        yield page.heading(names[name])
        yield page.pictures(_panels(drawn, value, styles), CAPTIONS[name], made)
    yield page.paragraph(LEFT_OUT)
    yield page.heading("Frames to solve")
    yield page.table(results_rows(tables.results, with_paper=True))
    yield page.paragraph(SOLVED)
    if len(tables.means):
        yield page.heading("Scores")
        none = pd.DataFrame()
        figures = {
            "interquartile means": draw_scores(tables.means, none, styles),
            "probabilities of improvement": draw_scores(none, tables.improvements, styles),
        }
        panels = [(figure, text) for text, figure in figures.items() if figure.axes[0].has_data()]
        yield page.pictures(panels, CAPTIONS["scores"], made)
        yield page.table(mean_rows(tables.means))
        yield page.table(improvement_rows(tables.improvements))
        yield page.paragraph(SCORED)
    yield page.heading("Runs")
    yield page.table(runs_rows(tables.runs))


def _panels(
    runs: Sequence[Run], value: str, styles: Mapping[str, LineStyle]
) -> Iterator[tuple[Figure, str]]:
    """A figure per task, each with its own legend, as a phone shows one at a time."""
    for task in sorted({run.task for run in runs}, key=task_key):
        of_task = [run for run in runs if run.task == task]
        text = f"{value} against frames on {title_of(task)}: {', '.join(labels_of(of_task))}"
        yield draw_curves(of_task, [value], styles), text


def _markdown(
    runs: Sequence[Run], tables: Tables, notes: Sequence[str], made: Sequence[str]
) -> Iterator[str]:
    yield f"# {title(runs)}\n"
    yield f"{states(runs)}\n"
    yield "".join(f"- {note}\n" for note in notes)
    yield f"## Frames to solve\n\n{SOLVED}\n"
    yield to_markdown(results_rows(tables.results, with_paper=True))
    if len(tables.means):
        yield f"## Scores\n\n{SCORED} {CAPTIONS['scores']}\n"
        yield to_markdown(mean_rows(tables.means))
        yield to_markdown(improvement_rows(tables.improvements))
    yield "## Runs\n"
    yield to_markdown(runs_rows(tables.runs))
    yield "## Made by\n"
    yield f"    {made[0]}\n"
    yield "".join(f"- {line}\n" for line in made[1:])


def title(runs: Sequence[Run]) -> str:
    """The report's title, which names its experiments."""
    return f"Report on {', '.join(sorted({run.experiment for run in runs}))}"


def states(runs: Sequence[Run]) -> str:
    """A sentence with the number of runs, by state."""
    counts = Counter(run.state for run in runs).most_common()
    resumed = sum(run.resumed for run in runs)
    told = [f"{count} {state}" for state, count in counts]
    told += [f"{resumed} of these resumed from a checkpoint"] if resumed else []
    return f"{len(runs)} run{'' if len(runs) == 1 else 's'}: {', '.join(told)}."
