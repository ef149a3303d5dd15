"""Tune's process gives back memory whenever a trial has saved."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ray.tune import Callback

from rllib_ride.experiments.steady_memory import give_back_memory

if TYPE_CHECKING:
    from ray.tune import Checkpoint
    from ray.tune.experiment import Trial as TuneTrial


class GiveBackCallback(Callback):
    """See `give_back_memory`."""

    def on_checkpoint(
        self,
        iteration: int,
        trials: list[TuneTrial],
        trial: TuneTrial,
        checkpoint: Checkpoint,
        **info: Any,
    ) -> None:
        """Gives back what this process has freed."""
        give_back_memory()
