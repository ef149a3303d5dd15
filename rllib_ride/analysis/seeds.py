"""Means over seeds that report at different frames and stop at different frames."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from rllib_ride.analysis.runs import Run

RETURN = "return_mean"
GRID_POINTS = 200
# Seeds that end together end at somewhat different frames, each with the batch it was in.
_TOGETHER = 0.98


@dataclass(frozen=True)
class SeedMean:
    """A value's course over training, averaged over seeds. N is the number of grid points.

    Attributes:
        frames: [N] common grid, from the first frame any seed reports to the last; where several
            seeds end within 2% of that, to the least of their ends, for no stub of a line is to
            tell of the few that went a batch further.
        mean: [N] mean over the seeds that have a value there.
        std: [N] their sample standard deviation, NaN where fewer than two have one.
        seeds: [N] how many have one.
    """

    frames: np.ndarray
    mean: np.ndarray
    std: np.ndarray
    seeds: np.ndarray


def mean_over_seeds(runs: Sequence[Run], column: str) -> SeedMean | None:
    """Interpolates `column` of each run on a common grid and averages; None if it has no value.

    A seed counts between its own first and last finite value only: nothing is extrapolated. But a
    seed that has ended because it was solved keeps its last return: without it the mean would fall
    wherever a seed is done.
    """
    curves, after = [], []  # [points, 2] of each seed; what it counts with from its end on
    for run in runs:
        curve = run.curve[["frames", column]].dropna().to_numpy()
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
