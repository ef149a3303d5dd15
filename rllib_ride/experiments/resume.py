"""What a resumed run knows better than the state that Tune kept of it."""

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
    """Notes what a run was started with, for `resumed_trials`."""
    text = json.dumps([trial.to_dict() for trial in trials], indent=1)
    write_whole(folder / TRIALS_FILE, text)


def resumed_trials(trials: Sequence[Trial], folder: Path) -> list[Trial]:
    """The trials, each with the schedules it was started with and perhaps more frames.

    Raises:
        ConfigError: `folder` holds no run, or one of other settings; its checkpoints are of another
            method or environment or of a newer format; or the learning rate would be 0 over the
            added frames.
    """
    recorded = folder / TRIALS_FILE
    if not recorded.exists():
        raise ConfigError(f"{folder} holds no run to resume: start it without --resume")
    before = _read_trials(recorded)
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
    for trial in trials:
        try:
            refuse_others(trial, folder / trial.name)
        except SealError as error:
            raise ConfigError(str(error)) from error
    return list(trials)


def _read_trials(path: Path) -> list[Trial]:
    """What `write_trials` wrote."""
    try:
        trials = [Trial(**entry) for entry in read_json(path, 64 * MIB)]
        if not trials or not all(_is_whole(trial) for trial in trials):
            raise ValueError("not what a run writes")
    except (OSError, TypeError, ValueError) as error:  # TypeError: an entry is none of a Trial's
        raise ConfigError(
            f"{path} does not say what the run was started with, so it cannot go on: {told(error)}"
        ) from None
    return trials


def _is_whole(trial: Trial) -> bool:
    """Whether its name and frames are what they must be; the rest is compared as it is."""
    is_name = isinstance(trial.name, str) and trial.name.isprintable() and len(trial.name) < 256
    return is_name and {type(trial.frames), type(trial.schedule_frames)} == {int}


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
                return f"{key} of {old.name} is {shown(value)}, not {shown(got)}"
    return None


class Resumption:
    """Gives Tune's trials their settings and checkpoints before they go on; a scheduler calls it.

    A trial goes on in the middle of its episodes, with the steps it would have taken; one that has
    failed since its checkpoint begins new ones, or it would come to the same failure again.

    A killed run may have saved a checkpoint and deleted another since Tune last wrote its state,
    and may have left half a checkpoint. The newest whole one on the disk is where a trial goes on;
    without one it begins anew.

    Args:
        trials: The trials as they will run.
        ended: Names of those that have ended and are not to train on.
    """

    def __init__(self, trials: Sequence[Trial], ended: Collection[str] = ()) -> None:
        self._trials = {trial.name: trial for trial in trials}
        self._ended = frozenset(ended)
        self._prepared: set[str] = set()

    def prepare(self, trial: TuneTrial) -> None:
        """Corrects a trial; has to come before Tune makes a process for it."""
        if trial.trial_id in self._prepared:  # tried again after an error
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
    """Whether a trial's last checkpoint is of its last result: a kill may come between the two."""
    saved = trial.latest_checkpoint_result
    return saved is not None and saved.metrics["frames"] == trial.last_result["frames"]


def _take_stock(trial: TuneTrial) -> None:
    """Registers the whole checkpoints there are, and removes half ones after the last of them."""
    folder = Path(trial.path or "")
    whole = whole_checkpoints(folder)
    if not whole and trial.latest_checkpoint_result is not None:
        print(f"{folder}: none of its checkpoints is whole, so it begins anew", file=sys.stderr)
    newest = whole[-1][0].name if whole else ""
    for path in folder.glob("checkpoint_*"):
        if path.name > newest:
            shutil.rmtree(path)
    register_checkpoints(trial, whole)
