"""Resumes a run, and corrects the state that Tune saved of it."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from rllib_ride.experiments.build import algorithm_config
from rllib_ride.experiments.checkpoints import refuse_others, whole_checkpoints
from rllib_ride.experiments.errors import ConfigError
from rllib_ride.experiments.retry import NEW_EPISODES
from rllib_ride.experiments.trial import Trial
from rllib_ride.experiments.tune_internals import register_checkpoints
from rllib_ride.reading import MIB, read_json
from rllib_ride.run_files import TRIALS_FILE, write_whole
from rllib_ride.seal import SealError
from rllib_ride.wording import shown, told

if TYPE_CHECKING:
    from ray.tune.experiment import Trial as TuneTrial


def write_trials(trials: Sequence[Trial], folder: Path) -> None:
    """Saves the trials that a run starts with, for `resumed_trials`."""
    text = json.dumps([trial.to_dict() for trial in trials], indent=1)
    write_whole(folder / TRIALS_FILE, text)


def resumed_trials(trials: Sequence[Trial], folder: Path) -> list[Trial]:
    """The trials to resume, each with the schedules it was started with and perhaps more frames.

    Raises:
        ConfigError: `folder` holds no run, or one with other settings; its checkpoints are of
            another method or environment, or of a newer format; a run with ASHA is given more
            frames; or the learning rate would be 0 over the added frames.
    """
    recorded = folder / TRIALS_FILE
    if not recorded.exists():
        raise ConfigError(f"{folder} holds no run to resume: start it without --resume")
    before = _read_trials(recorded)
    by_name = {trial.name: trial for trial in trials}
    if by_name.keys() == {trial.name for trial in before}:
        # Trials are sorted by their frames, which may have changed.
        trials = [by_name[trial.name] for trial in before]
        pairs = zip(trials, before, strict=True)
        trials = [_with_more_frames(now, old) for now, old in pairs]
    if before != trials and (difference := _difference(before, trials)):
        raise ConfigError(
            f"{folder} holds a run of other settings: {difference}. A run is resumed "
            "with the file and options it was started with"
        )
    for trial in trials:
        try:
            refuse_others(trial, folder / trial.name)
        except SealError as error:
            raise ConfigError(str(error)) from error
    return list(trials)


def _read_trials(path: Path) -> list[Trial]:
    """Reads what `write_trials` wrote."""
    try:
        trials = [Trial(**entry) for entry in read_json(path, 64 * MIB)]
        if not trials or not all(_is_whole(trial) for trial in trials):
            raise ValueError("not what a run writes")
    except (OSError, TypeError, ValueError) as error:  # TypeError: an entry is no Trial
        raise ConfigError(
            f"{path} does not say what the run was started with, so it cannot go on: {told(error)}"
        ) from None
    return trials


def _is_whole(trial: Trial) -> bool:
    """Whether name and frames are valid; the other fields are only compared for equality."""
    is_name = isinstance(trial.name, str) and trial.name.isprintable() and len(trial.name) < 256
    return is_name and {type(trial.frames), type(trial.schedule_frames)} == {int}


def _with_more_frames(now: Trial, before: Trial) -> Trial:
    """`now` with the schedules of `before`; unchanged if it has fewer frames than `before`."""
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
    """The first difference of two runs, in words; more frames are no difference."""
    names_before, names_now = ([trial.name for trial in trials] for trials in (before, now))
    if names_before != names_now:
        return f"its trials are {', '.join(names_before)}, not {', '.join(names_now)}"
    for old, new in zip(before, now, strict=True):
        for key, value in old.to_dict().items():
            got = new.to_dict()[key]
            if got != value and not (key == "frames" and got > value):
                return f"{key} of {old.name} is {shown(value)}, not {shown(got)}"
    return None


class Resumption:
    """Gives Tune's trials their settings and checkpoints before they resume; a scheduler calls it.

    A trial resumes in the middle of its episodes, with the steps it would have taken. A trial that
    has failed since its checkpoint begins new episodes, so as not to repeat the failure.

    A killed run may have saved a checkpoint and deleted another since Tune last wrote its state,
    and may have left half a checkpoint. A trial therefore resumes from the newest whole checkpoint
    on the disk, and starts over if there is none.

    Args:
        trials: The trials as they will run.
        ended: Names of trials that have ended and do not train on.
    """

    def __init__(self, trials: Sequence[Trial], ended: Collection[str] = ()) -> None:
        self._trials = {trial.name: trial for trial in trials}
        self._ended = frozenset(ended)
        self._prepared: set[str] = set()

    def prepare(self, trial: TuneTrial) -> None:
        """Corrects a trial; must be called before Tune starts a process for it."""
        if trial.trial_id in self._prepared:  # retried after an error
            return
        self._prepared.add(trial.trial_id)
        ours = self._trials[trial.config["trial"]["name"]]
        trial.set_config({"trial": ours.to_dict(), NEW_EPISODES: trial.num_failures > 0})
        if ours.name in self._ended and _is_saved(trial):
            trial.set_status(trial.TERMINATED)
            return
        if trial.storage is not None and trial.storage.trial_dir_name is None:  # it is new
            trial.init_local_path()  # names its folder
        _take_stock(trial)


def _is_saved(trial: TuneTrial) -> bool:
    """Whether the last checkpoint is of the last result: a kill may come between the two."""
    saved = trial.latest_checkpoint_result
    return saved is not None and saved.metrics["frames"] == trial.last_result["frames"]


def _take_stock(trial: TuneTrial) -> None:
    """Registers all whole checkpoints, and deletes half ones that are newer than the last."""
    folder = Path(trial.path or "")
    whole = whole_checkpoints(folder)
    if not whole and trial.latest_checkpoint_result is not None:
        print(f"{folder}: none of its checkpoints is whole, so it begins anew", file=sys.stderr)
    newest = whole[-1][0].name if whole else ""
    for path in folder.glob("checkpoint_*"):
        if path.name > newest:
            shutil.rmtree(path)
    register_checkpoints(trial, whole)
