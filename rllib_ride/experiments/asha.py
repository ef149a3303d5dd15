"""ASHA: ends trials early whose return is behind the others'.

Source: Li et al., "A System for Massively Parallel Hyperparameter Tuning", 2020.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from ray.tune.schedulers import ASHAScheduler, TrialScheduler

from rllib_ride.experiments.curve import read_curve
from rllib_ride.run_files import CURVE_FILE

if TYPE_CHECKING:
    from ray.tune.execution.tune_controller import TuneController
    from ray.tune.experiment import Trial as TuneTrial


class FramesASHA(ASHAScheduler):
    """Tune's ASHA over frames and mean return, which a resumed run goes on with.

    Tune does not keep a scheduler's memory. A resumed run learns from the curves again what each
    trial's return was when it came to a rung. A trial of which no episode has ended has no return
    and is not judged.
    """

    def __init__(self, frames: int, grace_frames: int, reduction_factor: float) -> None:
        super().__init__(
            time_attr="frames",
            metric="return_mean",
            mode="max",
            max_t=frames,
            grace_period=grace_frames,
            reduction_factor=reduction_factor,
            stop_last_trials=False,  # the trial itself ends at its frames
        )

    def on_trial_add(self, tune_controller: TuneController, trial: TuneTrial) -> None:
        """Takes note of the trial, and of what it did before an interruption."""
        super().on_trial_add(tune_controller, trial)
        if not trial.has_reported_at_least_once:  # and so has no folder either
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
