"""All that running experiments takes from Ray and Tune without Ray's promise to keep it.

Written for Ray 2.60, as `rllib_ride/rllib/ray_internals.py` is for RLlib.
"""

from __future__ import annotations

import contextlib
import json
import pickle
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from ray import tune
from ray._private import ray_constants, services
from ray._private import utils as ray_utils
from ray._private.services import canonicalize_bootstrap_address
from ray.train._internal.checkpoint_manager import _CheckpointManager
from ray.train._internal.session import _TrainingResult
from ray.tune import ResumeConfig
from ray.tune.execution import class_cache

if TYPE_CHECKING:
    from ray.tune.execution.tune_controller import TuneController
    from ray.tune.experiment import Trial as TuneTrial
    from ray.tune.schedulers import TrialScheduler


def resolve_address(address: str) -> str | None:
    """`HOST:PORT` of a cluster; of the one this machine is a node of if `address` is `auto`.

    Raises:
        ConnectionError, OSError, ValueError: it is no address.
    """
    with _replaced(services.logger, "disabled", True):  # which writes a traceback of its own
        return canonicalize_bootstrap_address(address)


def stored_tuner(
    folder: Path,
    trainable: type[tune.Trainable],
    callbacks: Sequence[tune.Callback] = (),
    scheduler: TrialScheduler | None = None,
) -> tune.Tuner:
    """The run in `folder`, all of whose trials go on, but for those that `scheduler` ends at once.

    Of callbacks and scheduler Tune would take those of the first start, with its W&B mode, say.
    """
    go_on: Any = ResumeConfig.ResumeType.RESUME  # Ray declares a string
    config = ResumeConfig(finished=go_on, unfinished=go_on, errored=go_on)
    tuner = tune.Tuner.restore(str(folder), trainable, _resume_config=config)
    assert tuner._local_tuner is not None, "no Ray client"
    tuner._local_tuner.get_run_config().callbacks = list(callbacks)
    tuner._local_tuner._tune_config.scheduler = scheduler
    return tuner


def forget_results(controller: TuneController) -> None:
    """Lets go of iterations that have been reported.

    Tune keeps a reference to each until its trial ends, and with it the result, some 10 kB: a
    gigabyte in a day of a few trials.
    """
    manager = controller._actor_manager
    awaited = manager._actor_task_events.get_futures()
    for futures in manager._tracked_actors_to_task_futures.values():
        futures &= awaited


def keep_readable_state(folder: Path) -> bool:
    """Whether `stored_tuner` finds what it reads, the newest that is whole.

    Tune writes its state over the one before. What a kill or a full disk has left half written is
    removed, so that the state of the session before counts, if there was one.
    """
    kinds = ("experiment_state-", json.load), ("basic-variant-state-", pickle.load)
    sessions = {
        path.stem.removeprefix(name) for name, _ in kinds for path in folder.glob(f"{name}*.json")
    }
    for session in sorted(sessions, reverse=True):
        parts = {folder / f"{name}{session}.json": load for name, load in kinds}
        if all(_loads(path, load) for path, load in parts.items()):
            return _loads(folder / "tuner.pkl", pickle.load)
        for path in parts:
            path.unlink(missing_ok=True)
    return False


def _loads(path: Path, load: Callable[[IO[bytes]], Any]) -> bool:
    try:
        with path.open("rb") as file:
            load(file)
    except Exception:  # what unpickling half a file may raise is anything
        return False
    return True


def keep_credentials_here() -> None:
    """Keeps Tune from handing AWS's keys to trials in a way that has Ray write them into a log.

    Trials on this machine inherit the environment; nodes of a cluster have one of their own.
    """
    class_cache.ENV_VARS_TO_PROPAGATE.difference_update(
        [name for name in class_cache.ENV_VARS_TO_PROPAGATE if name.startswith("AWS_")]
    )


def loopback_only() -> contextlib.AbstractContextManager[None]:
    """Has a Ray that is started meanwhile listen on 127.0.0.1 only, as it does on macOS.

    Elsewhere Ray takes the machine's own address, `_node_ip_address="127.0.0.1"` or not, and its
    servers listen on all there are.
    """
    return _replaced(ray_constants, "ENABLE_RAY_CLUSTER", False)


def apart_from_signals() -> contextlib.AbstractContextManager[None]:
    """Has a Ray that is started meanwhile run in process groups of its own, trials among them.

    A SIGTERM to this process's group, as `timeout` and batch systems send it, would otherwise end
    Ray before the trials have saved. They end with this process all the same.
    """
    return _replaced(services, "ConsolePopen", partial(services.ConsolePopen, process_group=0))


@contextlib.contextmanager
def handlers_left() -> Iterator[None]:
    """Has a Ray that is started or joined meanwhile leave this process's handlers of signals.

    On SIGTERM Ray's own would abort with a stack trace, from C++, or exit without a word.
    """
    with (
        _replaced(ray_constants, "RAY_DISABLE_FAILURE_SIGNAL_HANDLER", True),
        _replaced(ray_utils, "set_sigterm_handler", lambda handler: None),
    ):
        yield


@contextlib.contextmanager
def _replaced(owner: object, name: str, value: Any) -> Iterator[None]:
    before = getattr(owner, name)
    setattr(owner, name, value)
    try:
        yield
    finally:
        setattr(owner, name, before)


def register_checkpoints(trial: TuneTrial, whole: Sequence[tuple[Path, dict[str, Any]]]) -> None:
    """Gives a trial these checkpoints, oldest first and each with its result, in place of its own.

    The last one is where it goes on, and its number the one that the next is counted from; without
    any it begins at its start.
    """
    before, storage = trial.run_metadata.checkpoint_manager, trial.storage
    assert before is not None and storage is not None, "a trial of a run that Tune keeps"
    trial.run_metadata.checkpoint_manager = _CheckpointManager(before.checkpoint_config)
    for path, result in whole:
        checkpoint = tune.Checkpoint.from_directory(str(path))
        trial.on_checkpoint(_TrainingResult(checkpoint, result))
    storage.current_checkpoint_index = int(whole[-1][0].name.rpartition("_")[2]) if whole else -1
