"""Tune schedulers: trials in the file's order, or ASHA, which stops trials that fall behind.

Source of ASHA: Li et al., "A System for Massively Parallel Hyperparameter Tuning", 2020.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ray.tune.schedulers import ASHAScheduler, FIFOScheduler, TrialScheduler

from rllib_ride.experiments.curve import read_curve
from rllib_ride.experiments.tune_internals import forget_results
from rllib_ride.run_files import CURVE_FILE

if TYPE_CHECKING:
    from ray.tune.execution.tune_controller import TuneController
    from ray.tune.experiment import Trial as TuneTrial


class _Prepared(TrialScheduler):
    """Mixin for all schedulers here; it has to come before Tune's scheduler among the bases.

    Args:
        prepare: Called with each trial when Tune adds it, before Tune starts a process for it.
        **settings: Settings of Tune's scheduler.
    """

    def __init__(self, prepare: Callable[[TuneTrial], None], **settings: Any) -> None:
        self._prepare = prepare
        super().__init__(**settings)

    def on_trial_add(self, tune_controller: TuneController, trial: TuneTrial) -> None:
        """Prepares the trial, then adds it."""
        self._prepare(trial)
        super().on_trial_add(tune_controller, trial)

    def on_trial_result(
        self, tune_controller: TuneController, trial: TuneTrial, result: dict[str, Any]
    ) -> str:
        """Says whether the trial goes on."""
        forget_results(tune_controller)
        return super().on_trial_result(tune_controller, trial, result)


class InOrder(_Prepared, FIFOScheduler):
    """Tune's own order."""


class FramesASHA(_Prepared, ASHAScheduler):
    """Tune's ASHA on frames and mean return, with rungs that a resumed run restores.

    Tune does not save a scheduler's state. On resume, each trial's curve is replayed to recover its
    return at each rung. A trial without a finished episode has no return and is not judged.

    Args:
        prepare: See `_Prepared`.
        frames: Frames of the longest trial.
        grace_frames: No trial is stopped before this many frames.
        reduction_factor: One trial in this many goes on from each rung.
    """

    def __init__(
        self,
        prepare: Callable[[TuneTrial], None],
        frames: int,
        grace_frames: int,
        reduction_factor: float,
    ) -> None:
        super().__init__(
            prepare,
            time_attr="frames",
            metric="return_mean",
            mode="max",
            max_t=frames,
            grace_period=grace_frames,
            reduction_factor=reduction_factor,
            stop_last_trials=False,  # the trial itself ends at its frames
        )

    def on_trial_add(self, tune_controller: TuneController, trial: TuneTrial) -> None:
        """Adds the trial, and replays its curve from before an interruption."""
        super().on_trial_add(tune_controller, trial)
        if not trial.has_reported_at_least_once:  # has no folder either
            return
        for row in read_curve(Path(trial.path or "") / CURVE_FILE):
            if row["return_mean"]:
                self._trial_info[trial.trial_id].on_result(
                    trial, int(row["frames"]), float(row["return_mean"])
                )

    def on_trial_result(
        self, tune_controller: TuneController, trial: TuneTrial, result: dict[str, Any]
    ) -> str:
        """Says whether the trial goes on."""
        if result["return_mean"] != result["return_mean"]:  # NaN would pass every rung
            return TrialScheduler.CONTINUE
        return super().on_trial_result(tune_controller, trial, result)
