"""A Weights & Biases report on runs that were logged there: panels and text by task."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rllib_ride.analysis.captions import SOLVED
from rllib_ride.analysis.curves import BONUS, RETURN
from rllib_ride.analysis.report import states, title
from rllib_ride.analysis.runs import Run
from rllib_ride.analysis.tables import results_rows, results_table
from rllib_ride.analysis.tasks import task_key, title_of

if TYPE_CHECKING:
    import wandb_workspaces.reports.v2 as wr

# Columns of curve.csv, which `rllib-ride run --wandb` logs under the same names.
FRAMES = "frames"
PANELS = {
    "Return, mean of the last 100 episodes": RETURN,
    "Intrinsic reward, mean of a frame": BONUS,
}
# Entries of run.json, logged as a run's config; W&B inserts `value` after the first name.
METHOD, ENV, OPTIONS = "method.value", "env.value", "env_options.value"
GROUPED = (
    "A panel has a line a method: runs of one that differ in algorithm, preset or settings, which "
    "the sentences above it tell apart, are averaged."
)
_LONGEST_TITLE = 128


def wandb_report(
    runs: Sequence[Run], *, entity: str = "", threshold: float | None = None
) -> wr.Report:
    """Builds the report without saving it: a section per task, a line per method (mean over seeds).

    Args:
        runs: Runs logged by `rllib-ride run --wandb`, each to the W&B project named after its
            experiment. The report goes to the first of these projects.
        entity: Owner of the projects; empty: whoever saves the report.
        threshold: As in `results_table`.

    Raises:
        ImportError: wandb-workspaces is not installed.
    """
    import wandb_workspaces.reports.v2 as wr

    projects = sorted({run.experiment for run in runs})
    blocks: list = [wr.P(states(runs)), wr.P(SOLVED), wr.P(GROUPED)]
    for task in sorted({run.task for run in runs}, key=task_key):
        of_task = [run for run in runs if run.task == task]
        blocks += [wr.H2(title_of(task)), *(wr.P(text) for text in _sentences(of_task, threshold))]
        blocks.append(wr.PanelGrid(runsets=_runsets(of_task, entity), panels=_panels()))
    return wr.Report(
        project=projects[0], entity=entity, title=title(runs)[:_LONGEST_TITLE], blocks=blocks
    )


def save(runs: Sequence[Run], *, threshold: float | None = None) -> str:
    """Saves the report at W&B and returns its address.

    Raises:
        ImportError: wandb-workspaces is not installed.
        Exception: Any error of W&B, such as not logged in or no such project.
    """
    report = wandb_report(runs, entity=default_entity() or "", threshold=threshold)
    return str(report.save().url)


def default_entity() -> str | None:
    """The default entity of the user logged in at W&B.

    Raises:
        ImportError: wandb or wandb-workspaces is not installed.
        wandb.errors.Error: No user is logged in.
    """
    import wandb
    import wandb_workspaces.reports.v2  # noqa: F401 (fails early if it is missing)

    return wandb.Api().default_entity


def _sentences(runs: Sequence[Run], threshold: float | None) -> list[str]:
    """A sentence for each method on one task."""
    return [
        f"{row['method']}: return {row['return (last 100 episodes)']}; {row['seeds solved']} seeds "
        f"reach {row['solved at']}, after {row['frames to solve']} frames. "
        f"The paper: {row['the paper says'] or 'nothing of it'}."
        for row in results_rows(results_table(runs, threshold), with_paper=True)
    ]


def _runsets(runs: Sequence[Run], entity: str) -> list[wr.Runset]:
    """One runset per experiment: its runs on one task, grouped by method."""
    import wandb_workspaces.reports.v2 as wr

    env, options = runs[0].env, runs[0].env_options
    wanted = {ENV: env, **{f"{OPTIONS}.{key}": value for key, value in options.items()}}
    return [
        wr.Runset(
            entity=entity,
            project=project,
            name=project,
            filters=" and ".join(f"Config({key!r}) = {value!r}" for key, value in wanted.items()),
            groupby=[f"config.{METHOD}"],
        )
        for project in sorted({run.experiment for run in runs})
    ]


def _panels() -> list:
    import wandb_workspaces.reports.v2 as wr

    return [
        wr.LinePlot(
            title=text,
            x=FRAMES,
            y=[metric],
            title_x="frames",
            title_y=text,
            groupby=wr.Config(METHOD),
            groupby_aggfunc="mean",
            groupby_rangefunc="stddev",
            layout=wr.Layout(x=12 * column, y=0, w=12, h=8),
        )
        for column, (text, metric) in enumerate(PANELS.items())
    ]
