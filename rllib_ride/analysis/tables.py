"""Tells what each method reached, in one table a person reads and one a program does."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from rllib_ride.analysis.palette import sort_key
from rllib_ride.analysis.runs import Run

THRESHOLD = 0.6


def results_table(runs: Sequence[Run], threshold: float = THRESHOLD) -> pd.DataFrame:
    """Sums up the seeds of each env and method in one row.

    Columns:
        env, method: Method with its variant, if a grid was searched.
        seeds: Trials that have started.
        frames: Frames of the seed that has come least far.
        return_mean, return_std: Mean and sample standard deviation over seeds of the last mean
            return over 100 episodes; NaN where there are no values.
        threshold: The mean return that counts as solved.
        seeds_reaching: Trials that reached it.
        frames_to_threshold: Frames at which they first did, the mean over these trials.
        fps: Frames a second, the mean over a trial's reports and over trials.
    """
    groups = sorted({(run.env, run.label) for run in runs}, key=lambda g: (g[0], sort_key(g[1])))
    return pd.DataFrame(
        [
            _row(
                env, label, [run for run in runs if (run.env, run.label) == (env, label)], threshold
            )
            for env, label in groups
        ]
    )


def _row(env: str, label: str, runs: Sequence[Run], threshold: float) -> dict[str, object]:
    final = pd.Series([_last(run.curve["return_mean"]) for run in runs]).dropna()
    reached = pd.Series([_frames_to(run.curve, threshold) for run in runs]).dropna()
    return {
        "env": env,
        "method": label,
        "seeds": len(runs),
        "frames": int(min(_last(run.curve["frames"], default=0) for run in runs)),
        "return_mean": final.mean(),
        "return_std": final.std(),
        "threshold": threshold,
        "seeds_reaching": len(reached),
        "frames_to_threshold": reached.mean(),
        "fps": pd.Series([run.curve["fps"].mean() for run in runs]).mean(),
    }


def _last(values: pd.Series, default: float = np.nan) -> float:
    finite = values.dropna()
    return float(finite.iloc[-1]) if len(finite) else default


def _frames_to(curve: pd.DataFrame, threshold: float) -> float:
    reached = curve["frames"][curve["return_mean"] >= threshold]
    return float(reached.iloc[0]) if len(reached) else np.nan


def to_markdown(table: pd.DataFrame) -> str:
    """The table for people, numbers rounded and a dash where there is none."""
    threshold = table["threshold"].iloc[0] if len(table) else THRESHOLD
    header = [
        "env",
        "method",
        "seeds",
        "frames",
        "return (last 100 episodes)",
        f"frames to a return of {threshold:g}",
        "frames/s",
    ]
    rows = [
        [
            row.env,
            row.method,
            str(row.seeds),
            f"{row.frames:,}",
            _with_std(row.return_mean, row.return_std),
            _frames_reached(row.frames_to_threshold, row.seeds_reaching, row.seeds),
            _number(row.fps, ",.0f"),
        ]
        for row in table.itertuples()
    ]
    rule = ["---", "---", *["---:"] * (len(header) - 2)]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in [header, rule, *rows])


def _number(value: float, spec: str) -> str:
    return format(value, spec) if np.isfinite(value) else "-"


def _with_std(mean: float, std: float) -> str:
    return _number(mean, ".3f") + (f" ± {std:.3f}" if np.isfinite(std) else "")


def _frames_reached(frames: float, reaching: int, seeds: int) -> str:
    some = f" ({reaching} of {seeds} seeds)" if 0 < reaching < seeds else ""
    return _number(frames, ",.0f") + some
