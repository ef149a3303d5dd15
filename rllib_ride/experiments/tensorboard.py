"""TensorBoard files of the numbers a person looks at, over frames."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ray.tune.logger import TBXLoggerCallback
from ray.tune.result import TIMESTEPS_TOTAL

from rllib_ride.experiments.scalars import scalars

if TYPE_CHECKING:
    from ray.tune.experiment import Trial as TuneTrial


class TensorBoardCallback(TBXLoggerCallback):
    """Tune's own logger with `scalars` in place of RLlib's whole result."""

    def log_trial_result(self, iteration: int, trial: TuneTrial, result: dict[str, Any]) -> None:
        """Logs one point of each curve."""
        values = scalars(result)
        step = {TIMESTEPS_TOTAL: int(values["frames"])}  # Tune's step on the x axis
        super().log_trial_result(iteration, trial, {**values, **step})
