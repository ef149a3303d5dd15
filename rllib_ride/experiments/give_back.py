"""Returns freed memory of Tune's process to the system whenever a trial has saved."""

from __future__ import annotations

from typing import Any

from ray.tune import Callback

from rllib_ride.experiments.steady_memory import give_back_memory


class GiveBackCallback(Callback):
    """See `give_back_memory`."""

    def on_checkpoint(self, *args: Any, **info: Any) -> None:
        """Returns the memory that this process has freed."""
        give_back_memory()
