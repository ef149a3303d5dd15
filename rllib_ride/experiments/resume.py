"""What a resumed run knows better than the state that Tune kept of it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ray.tune import Callback

from rllib_ride.experiments.build import algorithm_config
from rllib_ride.experiments.checkpoints import whole_checkpoints
from rllib_ride.experiments.errors import ConfigError
from rllib_ride.experiments.trial import Trial
from rllib_ride.experiments.tune_internals import register_checkpoints
from rllib_ride.run_files import TRIALS_FILE, write_whole

if TYPE_CHECKING:
    from ray.tune.experiment import Trial as TuneTrial


def write_trials(trials: Sequence[Trial], folder: Path) -> None:
    """Notes what a run was started with, for `resumed_trials`."""
    text = json.dumps([trial.to_dict() for trial in trials], indent=1)
    write_whole(folder / TRIALS_FILE, text)


def resumed_trials(trials: Sequence[Trial], folder: Path) -> list[Trial]:
    """The trials, each with the schedules it was started with and perhaps more frames.

    Raises:
        ConfigError: `folder` holds no run, or one of other settings; or the learning rate would be
            0 over the added frames.
    """
    recorded = folder / TRIALS_FILE
    if not recorded.exists():
        raise ConfigError(f"{folder} holds no run to resume: start it without --resume")
    before = [Trial(**entry) for entry in json.loads(recorded.read_text(encoding="utf-8"))]
    by_name = {trial.name: trial for trial in trials}
    if by_name.keys() == {trial.name for trial in before}:
        # Trials are sorted by their frames, which may be others now.
        trials = [by_name[trial.name] for trial in before]
        pairs = zip(trials, before, strict=True)
        trials = [_with_more_frames(now, old) for now, old in pairs]
    if before != trials and (difference := _difference(before, trials)):
        raise ConfigError(
            f"{folder} holds a run of other settings: {difference}. A run is resumed "
            "with the file and options it was started with"
        )
    return list(trials)


def _with_more_frames(now: Trial, before: Trial) -> Trial:
    """`now` with the schedules of `before`, if that is a run it can go on with."""
    if now.frames < before.frames:
        return now
    trial = replace(now, schedule_frames=before.schedule_frames)
    if trial.frames == before.frames:
        return trial
    if now.asha is not None:
        raise ConfigError(f"trial {now.name}: a run with 'asha' cannot be given more frames")
    rate = algorithm_config(trial).lr
    if isinstance(rate, list) and rate[-1][1] == 0 and rate[-1][0] < trial.frames:
        raise ConfigError(
            f"trial {now.name}: its learning rate is 0 from {rate[-1][0]:,} frames on, so that "
            f"{trial.frames:,} would train nothing more; start a run of that length with another "
            "--storage"
        )
    return trial


def _difference(before: Sequence[Trial], now: Sequence[Trial]) -> str | None:
    """Where two runs differ; more frames are no difference."""
    names_before, names_now = ([trial.name for trial in trials] for trials in (before, now))
    if names_before != names_now:
        return f"its trials are {', '.join(names_before)}, not {', '.join(names_now)}"
    for old, new in zip(before, now, strict=True):
        for key, value in old.to_dict().items():
            got = new.to_dict()[key]
            if got != value and not (key == "frames" and got > value):
                return f"{key} of {old.name} is {value}, not {got}"
    return None


class ResumeCallback(Callback):
    """Gives Tune's trials their settings and checkpoints before they go on.

    A killed run may have saved a checkpoint and deleted another since Tune last wrote its state,
    and may have left half a checkpoint, or a state that cannot be read. The newest whole checkpoint
    on the disk is where a trial goes on.
    """

    def __init__(self, trials: Sequence[Trial]) -> None:
        self._trials = {trial.name: trial for trial in trials}
        self._corrected: set[str] | None = None

    def on_step_begin(self, iteration: int, trials: list[TuneTrial], **info: Any) -> None:
        """Corrects the trials that Tune has restored, before the first of them is started."""
        if self._corrected is not None:
            return
        self._corrected = {trial.trial_id for trial in trials}
        for trial in trials:
            ours = self._trials[trial.config["trial"]["name"]]
            trial.set_config({"trial": ours.to_dict()})
            if not trial.is_finished():
                _take_stock(trial)

    def on_trial_start(
        self, iteration: int, trials: list[TuneTrial], trial: TuneTrial, **info: Any
    ) -> None:
        """Gives a trial that Tune takes for new what is there of it all the same."""
        if self._corrected is not None and trial.trial_id not in self._corrected:
            self._corrected.add(trial.trial_id)
            _take_stock(trial)


def _take_stock(trial: TuneTrial) -> None:
    """Registers the whole checkpoints there are, and removes a half one after the last of them."""
    folder = Path(trial.path or "")
    whole = whole_checkpoints(folder)
    if not whole:
        return
    newest, _ = whole[-1]
    for path in folder.glob("checkpoint_*"):
        if path.name > newest.name:
            shutil.rmtree(path)
    register_checkpoints(trial, whole)
