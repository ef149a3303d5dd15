"""Averages over seeds that report and stop at different frames."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from rllib_ride.analysis.runs import Run

RETURN = "return_mean"
GRID_POINTS = 200
# Seeds trained for the same number of frames end at slightly different ones, after a full batch.
_TOGETHER = 0.98


@dataclass(frozen=True)
class SeedMean:
    """A value over training, averaged over seeds. N is the number of grid points.

    Attributes:
        frames: [N] common grid, from the first to the last reported frame of any seed. If several
            seeds end within 2% of the last frame, the grid ends with the first of them: otherwise
            the line's tail would show only the few that trained a batch longer.
        mean: [N] mean over the seeds that have a value there.
        std: [N] their sample standard deviation, NaN for fewer than two seeds.
        seeds: [N] number of seeds that have a value there.
    """

    frames: np.ndarray
    mean: np.ndarray
    std: np.ndarray
    seeds: np.ndarray


def mean_over_seeds(runs: Sequence[Run], column: str) -> SeedMean | None:
    """Interpolates `column` of each run on a common grid and averages; None if it has no value.

    Returns start with the first report over a full window of episodes (`Run.returns`), if a run has
    one. A seed counts only between its own first and last finite value: nothing is extrapolated.
    The exception is a seed that ended because it solved its task: it keeps its last return, or the
    mean would drop at its end.
    """
    curves, after = [], []  # [points, 2] of each seed; its value after its end
    for run in runs:
        curve = _points(run, column)
        if len(curve):
            curves.append(curve)
            after.append(curve[-1, 1] if run.solved and column == RETURN else np.nan)
    if not curves:
        return None
    first, ends = min(c[0, 0] for c in curves), [c[-1, 0] for c in curves]
    last = min(end for end in ends if end >= _TOGETHER * max(ends))
    frames = np.linspace(first, last, GRID_POINTS) if last > first else np.array([first])
    table = pd.DataFrame(  # [seeds, N]
        [
            np.interp(frames, c[:, 0], c[:, 1], left=np.nan, right=right)
            for c, right in zip(curves, after, strict=True)
        ]
    )
    return SeedMean(frames, *(of.to_numpy() for of in (table.mean(), table.std(), table.count())))


def _points(run: Run, column: str) -> np.ndarray:
    """Frames and finite values of a run, [points, 2]."""
    if column == RETURN and len(returns := run.returns):
        return returns
    points: np.ndarray = run.curve[["frames", column]].dropna().to_numpy()
    return points
