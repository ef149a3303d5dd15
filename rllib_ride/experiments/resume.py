"""What a resumed run knows better than the state that Tune kept of it."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ray.tune import Callback, Checkpoint

from rllib_ride.experiments.checkpoints import whole_checkpoints
from rllib_ride.experiments.trial import Trial

if TYPE_CHECKING:
    from ray.tune.experiment import Trial as TuneTrial


class ResumeCallback(Callback):
    """Gives Tune's trials their settings and checkpoints before they go on.

    A killed run may have saved a checkpoint and deleted another since Tune last wrote its state,
    and may have left half a checkpoint. The newest whole one on the disk is where a trial goes on.
    """

    def __init__(self, trials: Sequence[Trial]) -> None:
        self._trials = {trial.name: trial for trial in trials}
        self._done = False

    def on_step_begin(self, iteration: int, trials: list[TuneTrial], **info: Any) -> None:
        """Corrects the trials, before the first of them is started."""
        if self._done:
            return
        self._done = True
        for trial in trials:
            ours = self._trials[trial.config["trial"]["name"]]
            trial.set_config({"trial": ours.to_dict()})
            if not trial.is_finished():
                trial.run_metadata.num_failures = 0
                _take_stock(trial)


def _take_stock(trial: TuneTrial) -> None:
    """Registers the whole checkpoints there are, and removes a half one after the last of them."""
    from ray.train._internal.checkpoint_manager import _CheckpointManager
    from ray.train._internal.session import _TrainingResult

    folder = Path(trial.path or "")
    whole = whole_checkpoints(folder)
    if not whole:
        return
    newest, _ = whole[-1]
    for path in folder.glob("checkpoint_*"):
        if path.name > newest.name:
            shutil.rmtree(path)
    config = trial.run_metadata.checkpoint_manager.checkpoint_config
    trial.run_metadata.checkpoint_manager = _CheckpointManager(config)
    for path, result in whole:
        trial.on_checkpoint(_TrainingResult(Checkpoint.from_directory(str(path)), result))
    trial.storage.current_checkpoint_index = int(newest.name.rpartition("_")[2])
