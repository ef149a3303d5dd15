"""On Ctrl-C or SIGTERM, every running trial saves a checkpoint, then the run ends cleanly."""

from __future__ import annotations

import os
import signal
import sys
import time
from types import FrameType
from typing import TYPE_CHECKING, Any

from ray.tune import Callback
from ray.tune.experiment import Trial as TuneTrial
from ray.tune.result import SHOULD_CHECKPOINT

from rllib_ride.interrupts import SIGNALS, interrupt, is_main_thread, raise_swallowed

if TYPE_CHECKING:
    from ray.tune import Checkpoint

_LONGEST_WAIT_S = 60.0


class InterruptCallback(Callback):
    """Has each trial save after its current iteration; a second signal ends the run at once.

    Must come before callbacks that read results.
    """

    def __init__(self) -> None:
        self._asked_at: float | None = None
        self._unsaved: set[str] | None = None

    def setup(self, *args: Any, **info: Any) -> None:
        """Replaces Tune's signal handlers, which would end the run without checkpoints."""
        for signum in SIGNALS if is_main_thread() else ():
            signal.signal(signum, self._on_signal)
        raise_swallowed()

    def on_trial_result(
        self,
        iteration: int,
        trials: list[TuneTrial],
        trial: TuneTrial,
        result: dict[str, Any],
        **info: Any,
    ) -> None:
        """Tells Tune to save a checkpoint after this result."""
        if self._asked_at is not None:
            result[SHOULD_CHECKPOINT] = True

    def on_checkpoint(
        self,
        iteration: int,
        trials: list[TuneTrial],
        trial: TuneTrial,
        checkpoint: Checkpoint,
        **info: Any,
    ) -> None:
        """Marks the trial as saved."""
        if self._unsaved is not None:
            self._unsaved.discard(trial.trial_id)

    def on_step_end(self, iteration: int, trials: list[TuneTrial], **info: Any) -> None:
        """Ends the run once every running trial has saved, or after a minute."""
        if self._asked_at is None:
            return
        running = {trial.trial_id for trial in trials if trial.status == TuneTrial.RUNNING}
        self._unsaved = running if self._unsaved is None else self._unsaved & running
        if not self._unsaved or time.monotonic() - self._asked_at > _LONGEST_WAIT_S:
            os.kill(os.getpid(), signal.SIGUSR1)  # Tune's own signal for a clean end

    def _on_signal(self, signum: int, frame: FrameType | None) -> None:
        self._asked_at = time.monotonic()
        for other in SIGNALS:
            signal.signal(other, interrupt)
        # Not `print`: the signal may have interrupted one.
        os.write(sys.stderr.fileno(), b"saving checkpoints; again to end at once\n")
