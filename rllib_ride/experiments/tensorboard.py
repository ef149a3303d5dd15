"""Writes TensorBoard files of the metrics in `scalars`, over frames."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ray.tune.logger import TBXLoggerCallback
from ray.tune.result import TIMESTEPS_TOTAL

from rllib_ride.experiments.scalars import scalars

if TYPE_CHECKING:
    from ray.tune.experiment import Trial as TuneTrial


class TensorBoardCallback(TBXLoggerCallback):
    """Tune's own logger, with `scalars` in place of RLlib's whole result."""

    def log_trial_result(self, iteration: int, trial: TuneTrial, result: dict[str, Any]) -> None:
        """Logs one point per curve; none while slow remote EnvRunners have sent no frame yet."""
        values = scalars(result)
        if frames := int(values["frames"]):
            # Tune takes TIMESTEPS_TOTAL as the x axis.
            super().log_trial_result(iteration, trial, {**values, TIMESTEPS_TOTAL: frames})
