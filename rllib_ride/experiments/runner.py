"""Runs trials with Ray Tune: starts, resumes, and says how it ended."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ray
from ray import tune

from rllib_ride.experiments.connect import start_ray
from rllib_ride.experiments.curve import CurveCallback
from rllib_ride.experiments.errors import ConfigError
from rllib_ride.experiments.live import LiveCallback
from rllib_ride.experiments.preflight import preflight
from rllib_ride.experiments.progress import Progress
from rllib_ride.experiments.record import RecordCallback
from rllib_ride.experiments.trainable import TrialTrainable
from rllib_ride.experiments.trial import Trial

if TYPE_CHECKING:
    from ray.tune.experiment import Trial as TuneTrial

TRIALS_FILE = "trials.json"


@dataclass(frozen=True)
class TrialOutcome:
    """How a trial ended.

    Attributes:
        trial: The trial.
        folder: Where its files are.
        progress: Its last result; None if it never gave one.
        checkpoint: Its last checkpoint's folder, if there is one.
        error: One line of what went wrong, if it failed; `folder / "error.txt"` has all of it.
    """

    trial: Trial
    folder: Path
    progress: Progress | None = None
    checkpoint: Path | None = None
    error: str | None = None

    @property
    def state(self) -> str:
        """`done`, `failed` or `interrupted`."""
        if self.error is not None:
            return "failed"
        done = self.progress is not None and self.progress.frames >= self.trial.frames
        return "done" if done and self.checkpoint else "interrupted"


def experiment_folder(trials: Sequence[Trial], storage: Path) -> Path:
    """Where the trials of one experiment go."""
    return storage.resolve() / trials[0].experiment


def check_folder(trials: Sequence[Trial], storage: Path, *, resume: bool) -> None:
    """Refuses to write over another run, or to resume what is not this run.

    Raises:
        ConfigError: says which ways there are.
    """
    folder = experiment_folder(trials, storage)
    existing = next(parent for parent in (folder, *folder.parents) if parent.exists())
    if not existing.is_dir() or not os.access(existing, os.W_OK):
        raise ConfigError(f"--storage {storage}: {existing} is no folder that can be written to")
    recorded = folder / TRIALS_FILE
    if not resume:
        if folder.exists() and any(folder.iterdir()):
            raise ConfigError(
                f"{folder} holds a run already: go on with it with --resume, or choose another "
                f"folder with --storage or another 'experiment' name"
            )
        return
    if not recorded.exists():
        raise ConfigError(f"{folder} holds no run to resume: start it without --resume")
    before = json.loads(recorded.read_text(encoding="utf-8"))
    now = [trial.to_dict() for trial in trials]
    if before != now:
        raise ConfigError(
            f"{folder} holds a run of other settings: {_difference(before, now)}. A run is resumed "
            "with the file and options it was started with"
        )


def _difference(before: list[dict[str, Any]], now: list[dict[str, Any]]) -> str:
    names_before, names_now = ([trial["name"] for trial in trials] for trials in (before, now))
    if names_before != names_now:
        return f"its trials are {', '.join(names_before)}, not {', '.join(names_now)}"
    for old, new in zip(before, now, strict=True):
        for key, value in old.items():
            if new[key] != value:
                return f"{key} of {old['name']} is {value}, not {new[key]}"
    raise AssertionError("equal runs have no difference")


def run(
    trials: Sequence[Trial],
    storage: Path,
    *,
    resume: bool = False,
    address: str | None = None,
    callbacks: Sequence[tune.Callback] = (),
) -> list[TrialOutcome]:
    """Trains the trials, as many side by side as there are cores for.

    Ctrl-C ends it in order; what it returns then has trials in the state `interrupted`, and the
    same call with `resume=True` goes on from the last checkpoints.

    Args:
        trials: The trials of one experiment.
        storage: Folder that the experiment's folder is, or will be, in.
        resume: Go on with the run that is there.
        address: Of a Ray cluster; None starts Ray here.
        callbacks: Tune callbacks beside those that write the curves and show the progress.

    Raises:
        ConfigError: See `check_folder`, `start_ray` and `preflight`.
    """
    check_folder(trials, storage, resume=resume)
    folder = experiment_folder(trials, storage)
    tuner = _stored_tuner(folder) if resume else None
    if tuner is not None:
        before = _outcomes(tuner.get_results(), trials, folder)
        if all(outcome.state == "done" for outcome in before):
            return before
    start_ray(address)
    try:
        preflight(trials, address)
        tuner = tuner or _new_tuner(trials, folder, callbacks)
        return _outcomes(tuner.fit(), trials, folder)
    finally:
        ray.shutdown()


def _stored_tuner(folder: Path) -> tune.Tuner | None:
    """The run in `folder` as Tune keeps it; None if it ended before Tune had kept anything."""
    if not any(folder.glob("experiment_state-*.json")):
        return None
    return tune.Tuner.restore(str(folder), TrialTrainable, resume_errored=True)


def _new_tuner(
    trials: Sequence[Trial], folder: Path, callbacks: Sequence[tune.Callback]
) -> tune.Tuner:
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps([trial.to_dict() for trial in trials], indent=1)
    (folder / TRIALS_FILE).write_text(text, encoding="utf-8")
    return tune.Tuner(
        TrialTrainable,
        param_space={"trial": tune.grid_search([trial.to_dict() for trial in trials])},
        tune_config=tune.TuneConfig(
            trial_name_creator=_trial_name, trial_dirname_creator=_trial_name
        ),
        run_config=tune.RunConfig(
            name=folder.name,
            storage_path=str(folder.parent),
            callbacks=[RecordCallback(), CurveCallback(), LiveCallback(trials), *callbacks],
            # By time, which the trainable does; two, so that one is whole if the other is not.
            checkpoint_config=tune.CheckpointConfig(num_to_keep=2, checkpoint_at_end=True),
            verbose=0,
        ),
    )


def _trial_name(trial: TuneTrial) -> str:
    return trial.config["trial"]["name"]


def _outcomes(
    results: tune.ResultGrid, trials: Sequence[Trial], folder: Path
) -> list[TrialOutcome]:
    by_name = {Path(results[i].path).name: results[i] for i in range(len(results))}
    outcomes = []
    for trial in trials:
        result = by_name.get(trial.name)
        if result is None:  # interrupted before its turn
            outcomes.append(TrialOutcome(trial, folder / trial.name))
            continue
        outcomes.append(
            TrialOutcome(
                trial,
                folder / trial.name,
                progress=Progress.of(result.metrics) if result.metrics else None,
                checkpoint=Path(result.checkpoint.path) if result.checkpoint else None,
                error=_last_line(result.error) if result.error else None,
            )
        )
    return outcomes


def _last_line(error: Exception) -> str:
    """The line of a traceback that says what happened."""
    lines = [line for line in str(error).splitlines() if line.strip()]
    return lines[-1].strip() if lines else type(error).__name__
