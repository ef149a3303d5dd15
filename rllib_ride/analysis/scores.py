"""Compares methods over tasks and seeds: interquartile means and probabilities of improvement.

Source: Agarwal et al., "Deep Reinforcement Learning at the Edge of the Statistical Precipice"
(NeurIPS 2021); uses their package rliable.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

import numpy as np
import pandas as pd

from rllib_ride.analysis.palette import sort_key
from rllib_ride.analysis.runs import Run
from rllib_ride.analysis.tasks import task_key

REPETITIONS = 2000  # of the bootstrap
# A run that reaches this share of the frame at which a task is scored counts with its last value.
_SHORT = 0.95
ALL_TASKS = "all tasks"


def scores(runs: Sequence[Run]) -> pd.DataFrame:
    """Scores each run: its mean return over 100 episodes, at one frame for all runs of its task.

    That frame is the last one that half the seeds of every method have reached, ignoring seeds
    without a value, so that all methods are compared after equal training. A run that ended because
    it solved its task keeps its last value; otherwise only a method's slow seeds would count.

    Columns:
        env, method, seed: The run. There is no row for a run that has not reached 95% of it, or had
            not ended its first 100 episodes by then.
        frames: The frame at which the run is scored.
        score: Its score.
    """
    curves = {(run.task, run.label, run.seed): run.returns for run in runs}
    curves = {key: curve for key, curve in curves.items() if len(curve)}
    solved = {(run.task, run.label, run.seed) for run in runs if run.solved}
    rows = []
    for task in sorted({key[0] for key in curves}, key=task_key):
        of_task = {key: curve for key, curve in curves.items() if key[0] == task}
        furthest = max(curve[-1, 0] for curve in of_task.values())
        reach = {k: furthest if k in solved else curve[-1, 0] for k, curve in of_task.items()}
        frames = _frames_of_half(reach)
        for (_, label, seed), curve in of_task.items():
            if curve[0, 0] <= frames and reach[task, label, seed] >= _SHORT * frames:
                score = float(np.interp(frames, curve[:, 0], curve[:, 1]))
                rows.append((task, label, seed, frames, score))
    return pd.DataFrame(rows, columns=["env", "method", "seed", "frames", "score"])


def _frames_of_half(reach: Mapping[tuple[str, str, int], float]) -> float:
    """The last frame that half the seeds of every method have reached."""
    of_label: dict[str, list[float]] = {}
    for (_, label, _), frames in reach.items():
        of_label.setdefault(label, []).append(frames)
    return min(sorted(f, reverse=True)[math.ceil(len(f) / 2) - 1] for f in of_label.values())


def interquartile_means(table: pd.DataFrame) -> pd.DataFrame:
    """The interquartile mean of each task and method, and of each method over all its tasks.

    Args:
        table: The result of `scores`.

    Columns:
        env: A task, or `ALL_TASKS`. The latter considers only tasks whose scores are within
            [-1, 1], as other scales are not comparable, and methods with scores in more than half
            of them. It averages over those of these tasks in which all these methods have a score.
        method: Method with its variant.
        tasks, seeds: Their numbers; for `ALL_TASKS`, the seeds of the task with the fewest.
        frames: The frame of the scores; NaN for `ALL_TASKS`.
        mean, std: Of the scores.
        iqm, low, high: Mean of the middle half of the scores and its 95% interval, by
            `REPETITIONS` of the bootstrap stratified by task; no interval (NaN) for a single seed.

    Raises:
        ImportError: rliable is not installed.
    """
    rows = []
    for (env, method), of_pair in table.groupby(["env", "method"], sort=False):
        row = {"env": env, "method": method, "tasks": 1, "frames": of_pair["frames"].iloc[0]}
        rows.append({**row, **_spread(of_pair["score"].to_numpy()[:, None])})
    methods, tasks = _comparable(table)
    if len(tasks) > 1:
        for method in methods:
            row = {"env": ALL_TASKS, "method": method, "tasks": len(tasks), "frames": np.nan}
            rows.append({**row, **_spread(_matrix(table, method, tasks))})
    result = pd.DataFrame(rows)
    order = [
        (row.env != ALL_TASKS, task_key(row.env), sort_key(row.method))
        for row in result.itertuples()
    ]
    return result.iloc[sorted(range(len(order)), key=order.__getitem__)].reset_index(drop=True)


def improvements(table: pd.DataFrame) -> pd.DataFrame:
    """The probability that a run of the first method beats one of each other method, P(X > Y).

    The first method is `ride` if present. Averages over the tasks in which both have scores; ties
    count half.

    Columns:
        method, other, tasks: X, Y and the number of tasks they share.
        probability, low, high: With its 95% interval, NaN if a method has only one seed.

    Raises:
        ImportError: rliable is not installed.
    """
    methods = sorted(table["method"].unique(), key=sort_key)
    rows = []
    for other in methods[1:]:
        envs = [set(table["env"][table["method"] == name]) for name in (methods[0], other)]
        tasks = sorted(set.intersection(*envs), key=task_key)
        if tasks:
            pair = [_matrix(table, name, tasks) for name in (methods[0], other)]
            value, low, high = _interval(pair, probability_of_improvement)
            rows.append((methods[0], other, len(tasks), value, low, high))
    return pd.DataFrame(rows, columns=["method", "other", "tasks", "probability", "low", "high"])


def interquartile_mean(matrix: np.ndarray) -> float:
    """Mean of the middle half of all values; cuts a quarter, rounded down, at both ends.

    Equals rliable's `aggregate_iqm` but takes a tenth of the time, which matters in the bootstrap's
    thousands of calls; likewise `probability_of_improvement`.
    """
    values = np.sort(matrix, axis=None)
    cut = len(values) // 4
    return float(values[cut : len(values) - cut].mean())


def probability_of_improvement(x: np.ndarray, y: np.ndarray) -> float:
    """P(X > Y) over runs, [runs, tasks] each, averaged over tasks; ties count half."""
    difference = x[:, None] - y[None]  # [runs of x, runs of y, tasks]
    return float((difference > 0).mean() + 0.5 * (difference == 0).mean())


def _comparable(table: pd.DataFrame) -> tuple[list[str], list[str]]:
    """The methods and tasks of `ALL_TASKS`; each method has a score in each of the tasks."""
    largest = table["score"].abs().groupby(table["env"]).max()
    within = table[table["env"].isin(largest.index[largest <= 1])]
    of_method = {name: set(rows["env"]) for name, rows in within.groupby("method")}
    tasks = set().union(*of_method.values())
    methods = [name for name, envs in of_method.items() if len(envs) > len(tasks) / 2]
    tasks = set.intersection(*(of_method[name] for name in methods)) if methods else set()
    return sorted(methods, key=sort_key), sorted(tasks, key=task_key)


def _matrix(table: pd.DataFrame, method: str, tasks: Sequence[str]) -> np.ndarray:
    """Scores of a method, [runs, tasks]; runs are cut to the number of the task with the fewest."""
    of_method = table[table["method"] == method]
    columns = [of_method["score"][of_method["env"] == task].to_numpy() for task in tasks]
    runs = min(map(len, columns))
    return np.stack([column[:runs] for column in columns], axis=1)


def _spread(matrix: np.ndarray) -> dict[str, float]:
    iqm, low, high = _interval([matrix], interquartile_mean)
    std = matrix.std(ddof=1) if matrix.size > 1 else np.nan
    spread = {"seeds": len(matrix), "mean": matrix.mean(), "std": std}
    return {**spread, "iqm": iqm, "low": low, "high": high}


def _interval(
    matrices: Sequence[np.ndarray], value_of: Callable[..., float]
) -> tuple[float, float, float]:
    """A value of `matrices`, and its 95% interval by rliable's stratified bootstrap."""
    from rliable.library import get_interval_estimates

    if min(map(len, matrices)) < 2:
        return float(value_of(*matrices)), np.nan, np.nan
    with _numpy_seed(0):
        values, intervals = get_interval_estimates(
            {"": matrices[0] if len(matrices) == 1 else list(matrices)},
            lambda *resampled: np.array([value_of(*resampled)]),
            reps=REPETITIONS,
        )
    return float(values[""][0]), float(intervals[""][0, 0]), float(intervals[""][1, 0])


@contextmanager
def _numpy_seed(seed: int) -> Iterator[None]:
    """Seeds NumPy's global generator, which rliable uses regardless of its `random_state`."""
    before = np.random.get_state()
    np.random.seed(seed)
    try:
        yield
    finally:
        np.random.set_state(before)
