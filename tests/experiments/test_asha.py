"""ASHA on frames, before and after an interruption."""

from __future__ import annotations

import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from ray.tune.schedulers import TrialScheduler

from helpers.run_folders import curve_text
from rllib_ride.experiments.asha import FramesASHA

GO_ON, STOP = TrialScheduler.CONTINUE, TrialScheduler.STOP


# Tune's actor manager with no actors, so that `forget_results` finds nothing.
_MANAGER = SimpleNamespace(
    _actor_task_events=SimpleNamespace(get_futures=set), _tracked_actors_to_task_futures={}
)
CONTROLLER: Any = SimpleNamespace(_actor_manager=_MANAGER)


class Run:
    """Five trials under one scheduler."""

    def __init__(self, folder: Path) -> None:
        self.asha = FramesASHA(
            lambda trial: None, frames=10_000, grace_frames=1000, reduction_factor=2
        )
        self.trials = [
            SimpleNamespace(
                trial_id=str(n), path=folder / str(n), has_reported_at_least_once=n == 0
            )
            for n in range(5)
        ]
        for trial in self.trials:
            self.asha.on_trial_add(None, trial)  # type: ignore[arg-type]

    def report(self, n: int, frames: int, mean: float) -> Any:
        result = {"frames": frames, "return_mean": mean}
        return self.asha.on_trial_result(CONTROLLER, self.trials[n], result)


def test_a_trial_below_the_better_half_at_a_rung_is_stopped(tmp_path: Path) -> None:
    run = Run(tmp_path)
    returns: list[float] = []
    for n, mean in enumerate([0.2, 0.6, 0.1, 0.5, 0.9]):
        expected = STOP if returns and mean < np.median(returns) else GO_ON
        returns.append(mean)
        assert run.report(n, 999, 0.0) == GO_ON  # too early
        assert run.report(n, 1000, mean) == expected
    assert run.report(1, 1500, 0.0) == GO_ON  # between rungs


def test_a_trial_without_a_return_is_judged_when_it_has_one(tmp_path: Path) -> None:
    run = Run(tmp_path)
    run.report(0, 1000, 0.5)
    assert run.report(1, 1000, math.nan) == GO_ON
    assert run.report(1, 1100, 0.4) == STOP


def test_a_resumed_run_knows_the_returns_at_the_rungs(tmp_path: Path) -> None:
    (tmp_path / "0").mkdir()
    text = curve_text(frames=[500, 1010, 1900], return_mean=[None, 0.5, 0.9])
    (tmp_path / "0" / "curve.csv").write_text(text)

    assert Run(tmp_path).report(1, 1000, 0.4) == STOP
    assert Run(tmp_path).report(1, 1000, 0.6) == GO_ON
    assert Run(tmp_path).report(0, 1900, 0.0) == GO_ON  # already judged at this rung
