"""Tables of the results of each method, for programs and for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from rllib_ride.analysis.palette import sort_key
from rllib_ride.analysis.paper_claims import paper_says
from rllib_ride.analysis.runs import Run
from rllib_ride.analysis.tasks import task_key, threshold_of


def results_table(runs: Sequence[Run], threshold: float | None = None) -> pd.DataFrame:
    """Sums up the seeds of each task and method in one row.

    Args:
        runs: Some may have no reports.
        threshold: The mean return that counts as solved; None: each task's own, `threshold_of`.

    Columns:
        env: Environment with its options.
        method: Method with its variant, if there are several.
        seeds: Trials that have started.
        frames: Frames of the seed with the fewest.
        return_mean, return_std: Mean and sample standard deviation over seeds of the last mean
            return over 100 episodes; NaN without values.
        threshold: The mean return over 100 episodes that counts as solved.
        seeds_solved: Trials that reached it.
        frames_to_solve: Frames at which they first reached it, averaged over these trials.
        frames_least, frames_most: The least and most of these frames.
        fps: Frames per second, averaged over a trial's reports and over trials.
        paper: What the paper says of this method on this task.
    """
    groups: dict[tuple[str, str], list[Run]] = {}
    for run in runs:
        groups.setdefault((run.task, run.label), []).append(run)
    keys = sorted(groups, key=lambda key: (task_key(key[0]), sort_key(key[1])))
    return pd.DataFrame([_row(groups[key], threshold) for key in keys])


def runs_table(runs: Sequence[Run]) -> pd.DataFrame:
    """The progress of each run, one row per run.

    Columns:
        folder, experiment, env, method, seed: The run.
        state: `State`, with `resumed` if the run was resumed from a checkpoint.
        frames, frames_asked: Frames reached and requested; the latter NaN if its record has none.
        return_mean: Its last mean return over 100 episodes; NaN if there is none.
        git_commit: Commit of the code that ran; several if it was resumed with another.
    """
    return pd.DataFrame(
        {
            "folder": str(run.folder),
            "experiment": run.experiment,
            "env": run.task,
            "method": run.label,
            "seed": run.seed,
            "state": f"{run.state}{', resumed' if run.resumed else ''}",
            "frames": run.frames,
            "frames_asked": run.frames_asked if run.frames_asked is not None else np.nan,
            "return_mean": _last(run.curve["return_mean"]),
            "git_commit": ", ".join(dict.fromkeys(c.git_commit for c in run.code if c.git_commit)),
        }
        for run in sorted(runs, key=lambda r: (task_key(r.task), sort_key(r.label), r.seed))
    )


def results_rows(table: pd.DataFrame, *, with_paper: bool = False) -> list[dict[str, str]]:
    """`results_table` for people: numbers are rounded, and missing ones are a dash.

    The last column is the speed, or what the paper says if `with_paper`.
    """
    rows = []
    for row in table.itertuples():
        cells = {
            "env": row.env,
            "method": row.method,
            "seeds": str(row.seeds),
            "frames": f"{row.frames:,}",
            "return (last 100 episodes)": _with_spread(row.return_mean, row.return_std),
            "solved at": f"{row.threshold:g}",
            "seeds solved": f"{row.seeds_solved} of {row.seeds}",
            "frames to solve": _number(row.frames_to_solve, ",.0f") + _range(row),
        }
        if with_paper:
            rows.append({**cells, "the paper says": row.paper})
        else:
            rows.append({**cells, "frames/s": _number(row.fps, ",.0f")})
    return rows


def runs_rows(table: pd.DataFrame) -> list[dict[str, str]]:
    """`runs_table` for people."""
    return [
        {
            "experiment": row.experiment,
            "env": row.env,
            "method": row.method,
            "seed": str(row.seed),
            "state": row.state,
            "frames": f"{row.frames:,} of {_number(row.frames_asked, ',.0f')}",
            "return (last 100 episodes)": _number(row.return_mean, ".3f"),
        }
        for row in table.itertuples()
    ]


def mean_rows(means: pd.DataFrame) -> list[dict[str, str]]:
    """`scores.interquartile_means` for people."""
    return [
        {
            "env": row.env,
            "method": row.method,
            "tasks": str(row.tasks),
            "seeds": str(row.seeds),
            "at frame": _number(row.frames, ",.0f"),
            "mean": _with_spread(row.mean, row.std),
            "interquartile mean": _number(row.iqm, ".3f"),
            "95% interval": _interval(row.low, row.high, ".3f"),
        }
        for row in means.itertuples()
    ]


def improvement_rows(better: pd.DataFrame) -> list[dict[str, str]]:
    """`scores.improvements` for people."""
    return [
        {
            "X": row.method,
            "Y": row.other,
            "tasks": str(row.tasks),
            "P(X > Y)": _number(row.probability, ".2f"),
            "95% interval": _interval(row.low, row.high, ".2f"),
        }
        for row in better.itertuples()
    ]


def to_markdown(rows: Sequence[Mapping[str, str]]) -> str:
    """A Markdown table of rows with equal keys; empty without rows. Numbers are right-aligned."""
    if not rows:
        return ""
    header = list(rows[0])
    rule = ["---:" if is_number(rows, name) else "---" for name in header]
    lines = [header, rule, *(row.values() for row in rows)]
    return "".join(
        f"| {' | '.join(c.replace('|', chr(92) + '|') for c in cells)} |\n" for cells in lines
    )


def is_number(rows: Sequence[Mapping[str, str]], name: str) -> bool:
    """Whether a column of text contains numbers, some of which may be missing."""
    return all(row[name][:1].isdigit() or row[name][:1] in ("-", "") for row in rows) and any(
        row[name][:1].isdigit() for row in rows
    )


def _number(value: float, spec: str) -> str:
    """The formatted number, or a dash if it is not finite."""
    return format(value, spec) if np.isfinite(value) else "-"


def _with_spread(mean: float, std: float) -> str:
    """`mean ± std`; only the mean if `std` is not finite."""
    return _number(mean, ".3f") + (f" ± {std:.3f}" if np.isfinite(std) else "")


def _row(runs: Sequence[Run], threshold: float | None) -> dict[str, object]:
    first = runs[0]
    final = pd.Series([_last(run.curve["return_mean"]) for run in runs], dtype=float).dropna()
    if threshold is None:
        threshold = threshold_of(first.env)
    solved = pd.Series([_frames_to(run.returns, threshold) for run in runs], dtype=float).dropna()
    return {
        "env": first.task,
        "method": first.label,
        "seeds": len(runs),
        "frames": min(run.frames for run in runs),
        "return_mean": final.mean(),
        "return_std": final.std(),
        "threshold": threshold,
        "seeds_solved": len(solved),
        "frames_to_solve": solved.mean(),
        "frames_least": solved.min(),
        "frames_most": solved.max(),
        "fps": pd.Series([run.curve["fps"].mean() for run in runs]).mean(),
        "paper": paper_says(first.method, first.task),
    }


def _last(values: pd.Series) -> float:
    finite = values.dropna()
    return float(finite.iloc[-1]) if len(finite) else np.nan


def _frames_to(returns: np.ndarray, threshold: float) -> float:
    reached = returns[returns[:, 1] >= threshold]
    return float(reached[0, 0]) if len(reached) else np.nan


def _range(row: tuple) -> str:
    least, most = row.frames_least, row.frames_most  # type: ignore[attr-defined]
    return f" ({least:,.0f} to {most:,.0f})" if most > least else ""


def _interval(low: float, high: float, spec: str) -> str:
    return f"{low:{spec}} to {high:{spec}}" if low == low else "-"
