"""Runs trials with Ray Tune: starts, resumes, and says how it ended."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import ray
from ray import tune

from rllib_ride.experiments.asha import FramesASHA
from rllib_ride.experiments.connect import start_ray
from rllib_ride.experiments.curve import CurveCallback
from rllib_ride.experiments.errors import ConfigError
from rllib_ride.experiments.interrupt import InterruptCallback, own_signals
from rllib_ride.experiments.live import LiveCallback
from rllib_ride.experiments.preflight import preflight
from rllib_ride.experiments.progress import Progress
from rllib_ride.experiments.record import RecordCallback
from rllib_ride.experiments.resume import ResumeCallback, resumed_trials, write_trials
from rllib_ride.experiments.retry import MAX_FAILURES, RetryCallback
from rllib_ride.experiments.tensorboard import TensorBoardCallback
from rllib_ride.experiments.trainable import TrialTrainable
from rllib_ride.experiments.trial import Trial
from rllib_ride.experiments.tune_internals import has_whole_state, stored_tuner

if TYPE_CHECKING:
    from ray.tune.experiment import Trial as TuneTrial


@dataclass(frozen=True)
class TrialOutcome:
    """How a trial ended.

    Attributes:
        trial: The trial.
        folder: Where its files are.
        progress: Its last result; None if it never gave one.
        checkpoint: Its last checkpoint's folder, if there is one.
        error: One line of what went wrong, if it failed; `folder / "error.txt"` has all of it.
        ended: Whether Tune took it for finished, if perhaps with fewer frames than it has now.
    """

    trial: Trial
    folder: Path
    progress: Progress | None = None
    checkpoint: Path | None = None
    error: str | None = None
    ended: bool = False

    @property
    def solved(self) -> bool:
        """Whether it has reached the return that the experiment's `stop_at_return` asks for."""
        return self.progress is not None and self.progress.solves(self.trial)

    @property
    def state(self) -> str:
        """`done`, `stopped` (early, by ASHA), `failed` or `interrupted`."""
        if self.error is not None:
            return "failed"
        if self.progress is None or self.checkpoint is None:
            return "interrupted"
        if self.solved or self.progress.frames >= self.trial.frames:
            return "done"
        return "stopped" if self.ended and self.trial.asha is not None else "interrupted"


def experiment_folder(trials: Sequence[Trial], storage: Path) -> Path:
    """Where the trials of one experiment go."""
    return storage.resolve() / trials[0].experiment


def check_folder(trials: Sequence[Trial], storage: Path, *, resume: bool) -> list[Trial]:
    """Refuses to write over another run, or to resume what is not this run.

    Returns:
        The trials as they will run. A resumed one may get more frames than it was started with;
        its schedules stay those of its start.

    Raises:
        ConfigError: says which ways there are.
    """
    folder = experiment_folder(trials, storage)
    existing = next(parent for parent in (folder, *folder.parents) if parent.exists())
    if not existing.is_dir() or not os.access(existing, os.W_OK):
        raise ConfigError(f"--storage {storage}: {existing} is no folder that can be written to")
    if resume:
        return resumed_trials(trials, folder)
    if folder.exists() and any(folder.iterdir()):
        raise ConfigError(
            f"{folder} holds a run already: go on with it with --resume, or choose another "
            f"folder with --storage or another 'experiment' name"
        )
    return list(trials)


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
    trials = check_folder(trials, storage, resume=resume)
    folder = experiment_folder(trials, storage)
    own = [
        InterruptCallback(),
        ResumeCallback(trials),
        RetryCallback(),
        RecordCallback(),
        CurveCallback(),
        LiveCallback(trials),
        TensorBoardCallback(),
    ]
    tuner = None
    # Without it the run is begun anew, and its trials go on from the checkpoints there are.
    if resume and has_whole_state(folder):
        results = stored_tuner(folder, TrialTrainable).get_results()
        before = _outcomes(results, trials, folder)
        if all(outcome.state in ("done", "stopped") for outcome in before):
            return before
        extended = any(outcome.ended and outcome.state == "interrupted" for outcome in before)
        tuner = stored_tuner(folder, TrialTrainable, [*own, *callbacks], finished_too=extended)
    # Ray tells of a killed process on stdout.
    with own_signals() as sigterm_as_ctrl_c, contextlib.redirect_stdout(sys.stderr):
        try:
            dashboard = start_ray(address)
            sigterm_as_ctrl_c()
            preflight(trials, address)
            _say_how_to_watch(folder, dashboard)
            folder.mkdir(parents=True, exist_ok=True)
            write_trials(trials, folder)
            tuner = tuner or _new_tuner(trials, folder, [*own, *callbacks])
            return _outcomes(tuner.fit(), trials, folder)
        finally:
            ray.shutdown()


def _say_how_to_watch(folder: Path, dashboard: str | None) -> None:
    if dashboard:
        print(f"Ray's dashboard: http://{dashboard}", file=sys.stderr)
    print(f"curves while it trains: tensorboard --logdir {folder}", file=sys.stderr)


def _new_tuner(trials: Sequence[Trial], folder: Path, callbacks: list[tune.Callback]) -> tune.Tuner:
    return tune.Tuner(
        TrialTrainable,
        param_space={"trial": tune.grid_search([trial.to_dict() for trial in trials])},
        tune_config=tune.TuneConfig(
            scheduler=_scheduler(trials),
            trial_name_creator=_trial_name,
            trial_dirname_creator=_trial_name,
        ),
        run_config=tune.RunConfig(
            name=folder.name,
            storage_path=str(folder.parent),
            callbacks=callbacks,
            # Saved by time, which the trainable does; the best is kept, and always the last.
            checkpoint_config=tune.CheckpointConfig(
                num_to_keep=1, checkpoint_score_attribute="return_mean", checkpoint_at_end=True
            ),
            failure_config=tune.FailureConfig(max_failures=MAX_FAILURES),
            verbose=0,
        ),
    )


def _scheduler(trials: Sequence[Trial]) -> FramesASHA | None:
    asha = trials[0].asha
    if asha is None:
        return None
    return FramesASHA(frames=max(trials[0].frames, asha["grace_frames"]), **asha)


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
                ended=bool(result.metrics and result.metrics.get("done")),
            )
        )
    return outcomes


def _last_line(error: Exception) -> str:
    """The line of a traceback that says what happened."""
    lines = [line for line in str(error).splitlines() if line.strip()]
    return lines[-1].strip() if lines else type(error).__name__
