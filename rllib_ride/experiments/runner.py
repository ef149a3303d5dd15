"""Runs trials with Ray Tune: starts or resumes them, and returns how each ended."""

from __future__ import annotations

import contextlib
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import ray
from ray import tune

from rllib_ride.experiments.asha import FramesASHA, InOrder
from rllib_ride.experiments.connect import start_ray, stop_ray
from rllib_ride.experiments.curve import CurveCallback
from rllib_ride.experiments.errors import ConfigError
from rllib_ride.experiments.folders import check_writable
from rllib_ride.experiments.full_disk import (
    FullDiskCallback,
    told_if_full,
    warn_of_little_room,
)
from rllib_ride.experiments.give_back import GiveBackCallback
from rllib_ride.experiments.interrupt import InterruptCallback
from rllib_ride.experiments.live import LiveCallback
from rllib_ride.experiments.lost_head import watched_head
from rllib_ride.experiments.preflight import preflight
from rllib_ride.experiments.progress import Progress
from rllib_ride.experiments.record import RecordCallback
from rllib_ride.experiments.resume import Resumption, resumed_trials, write_trials
from rllib_ride.experiments.retry import MAX_FAILURES, RetryCallback
from rllib_ride.experiments.sole_run import holds_files, sole_run
from rllib_ride.experiments.tensorboard import TensorBoardCallback
from rllib_ride.experiments.trainable import TrialTrainable
from rllib_ride.experiments.trial import Trial
from rllib_ride.experiments.tune_internals import (
    keep_credentials_here,
    keep_readable_state,
    stored_tuner,
)
from rllib_ride.interrupts import interrupts_raised
from rllib_ride.wording import last_line

if TYPE_CHECKING:
    from ray.tune.experiment import Trial as TuneTrial
    from ray.tune.schedulers import TrialScheduler


@dataclass(frozen=True)
class TrialOutcome:
    """How a trial ended.

    Attributes:
        trial: The trial.
        folder: Where its files are.
        progress: Its last result; None if there was none.
        checkpoint: Folder of its last checkpoint, if there is one.
        error: One line on what went wrong, if it failed; `folder / "error.txt"` has all of it.
        ended: Whether Tune counts it as finished, perhaps with fewer frames than it has now.
    """

    trial: Trial
    folder: Path
    progress: Progress | None = None
    checkpoint: Path | None = None
    error: str | None = None
    ended: bool = False

    @property
    def solved(self) -> bool:
        """Whether the trial has reached the experiment's `stop_at_return`."""
        return self.progress is not None and self.progress.solves(self.trial)

    @property
    def state(self) -> str:
        """One of `done`, `stopped` (early, by ASHA), `failed` and `interrupted`."""
        if self.error is not None:
            return "failed"
        if self.progress is None or self.checkpoint is None:
            return "interrupted"
        if self.solved or self.progress.frames >= self.trial.frames:
            return "done"
        return "stopped" if self.ended and self.trial.asha is not None else "interrupted"


def experiment_folder(trials: Sequence[Trial], storage: Path) -> Path:
    """The folder for the trials of one experiment."""
    return storage.resolve() / trials[0].experiment


def run(
    trials: Sequence[Trial],
    storage: Path,
    *,
    resume: bool = False,
    address: str | None = None,
    callbacks: Sequence[tune.Callback] = (),
    on_lost_head: Callable[[str], None] = print,
) -> list[TrialOutcome]:
    """Trains the trials, as many in parallel as there are cores for.

    Ctrl-C ends the run cleanly. Unfinished trials are then returned as `interrupted`, and the same
    call with `resume=True` goes on from their last checkpoints.

    Args:
        trials: The trials of one experiment.
        storage: Parent of the experiment's folder.
        resume: Resume the run in the experiment's folder. A trial may get more frames than it was
            started with; its schedules stay those of its start.
        address: Address of a Ray cluster, see `start_ray`; None: that in `RAY_ADDRESS`, or else a
            Ray started here.
        callbacks: Tune callbacks, in addition to those that write curves and show progress.
        on_lost_head: Called from a thread when Ray's head is gone; see `watched_head`. Ray ends the
            process some seconds later.

    Raises:
        ConfigError: The folder holds another run, not the one to resume, or is in use; or see
            `start_ray` and `preflight`.
        DiskFull: The disk is full. `resume=True` goes on once there is room.
    """
    folder = experiment_folder(trials, storage)
    check_writable(f"--storage {storage}", folder)
    with told_if_full(folder), sole_run(folder):
        if resume:
            trials = resumed_trials(trials, folder)
        elif holds_files(folder):
            raise ConfigError(
                f"{folder} holds a run already: go on with it with --resume, or choose another "
                f"folder with --storage or another 'experiment' name"
            )
        before = _stored_outcomes(trials, folder) if resume else []
        ended = [outcome for outcome in before if outcome.state in ("done", "stopped")]
        if len(ended) == len(trials):
            return before
        live = LiveCallback(trials)
        own = [
            InterruptCallback(),
            FullDiskCallback(),
            RetryCallback(),
            RecordCallback(),
            CurveCallback(),
            live,
            TensorBoardCallback(),
            GiveBackCallback(),
        ]
        scheduler = _scheduler(trials, [outcome.trial.name for outcome in ended])
        # Ray reports killed processes on stdout.
        with interrupts_raised(), contextlib.redirect_stdout(sys.stderr):
            try:
                dashboard = start_ray(address)
                preflight(trials, address)
                _say_how_to_watch(folder, dashboard)
                warn_of_little_room(folder, len(trials) - len(ended))
                write_trials(trials, folder)
                keep_credentials_here()
                every = [*own, *callbacks]
                tuner = (
                    stored_tuner(folder, TrialTrainable, every, scheduler)
                    if before
                    else _new_tuner(trials, folder, every, scheduler)
                )
                with watched_head(ray.get_runtime_context().gcs_address, on_lost_head):
                    return _outcomes(tuner.fit(), trials, folder)
            finally:
                live.stop()  # on a second Ctrl-C, Tune exits without `on_experiment_end`
                stop_ray()


def _stored_outcomes(trials: Sequence[Trial], folder: Path) -> list[TrialOutcome]:
    """The outcomes of the run in the folder so far; none if Tune has saved no state of it."""
    if not keep_readable_state(folder):
        return []
    return _outcomes(stored_tuner(folder, TrialTrainable).get_results(), trials, folder)


def _say_how_to_watch(folder: Path, dashboard: str | None) -> None:
    if dashboard:
        print(f"Ray's dashboard: http://{dashboard}", file=sys.stderr)
    print(f"curves while it trains: tensorboard --logdir {folder}", file=sys.stderr)


def _new_tuner(
    trials: Sequence[Trial],
    folder: Path,
    callbacks: list[tune.Callback],
    scheduler: TrialScheduler,
) -> tune.Tuner:
    return tune.Tuner(
        TrialTrainable,
        param_space={"trial": tune.grid_search([trial.to_dict() for trial in trials])},
        tune_config=tune.TuneConfig(
            scheduler=scheduler,
            trial_name_creator=_trial_name,
            trial_dirname_creator=_trial_name,
        ),
        run_config=tune.RunConfig(
            name=folder.name,
            storage_path=str(folder.parent),
            callbacks=callbacks,
            # The trainable saves by time. Tune keeps the best checkpoint, and always the last.
            checkpoint_config=tune.CheckpointConfig(
                num_to_keep=1, checkpoint_score_attribute="return_mean", checkpoint_at_end=True
            ),
            failure_config=tune.FailureConfig(max_failures=MAX_FAILURES),
            verbose=0,
        ),
    )


def _scheduler(trials: Sequence[Trial], ended: Sequence[str]) -> TrialScheduler:
    prepare = Resumption(trials, ended).prepare
    asha = trials[0].asha
    if asha is None:
        return InOrder(prepare)
    return FramesASHA(prepare, frames=max(trials[0].frames, asha["grace_frames"]), **asha)


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
                error=_what_happened(result.error) if result.error else None,
                ended=bool(result.metrics and result.metrics.get("done")),
            )
        )
    return outcomes


def _what_happened(error: Exception) -> str:
    # Drop the module from the name of the error's class.
    return re.sub(r"^(\w+\.)+(?=\w+: )", "", last_line(error)) or type(error).__name__
