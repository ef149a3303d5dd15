"""All private APIs of Ray and Tune that running experiments depends on, as of Ray 2.60.

`rllib_ride/rllib/ray_internals.py` is the same for RLlib.
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
    """`HOST:PORT` of a cluster; for `auto`, that of the cluster this machine is a node of.

    Raises:
        ConnectionError, OSError, ValueError: It is no address.
    """
    with _replaced(services.logger, "disabled", True):  # would log a traceback
        return canonicalize_bootstrap_address(address)


def stored_tuner(
    folder: Path,
    trainable: type[tune.Trainable],
    callbacks: Sequence[tune.Callback] = (),
    scheduler: TrialScheduler | None = None,
) -> tune.Tuner:
    """The run in `folder`, with all trials set to go on; `scheduler` may end some at once.

    `callbacks` and `scheduler` replace those of the first start, which Tune would restore: with its
    W&B mode, for example.
    """
    go_on: Any = ResumeConfig.ResumeType.RESUME  # Ray declares a string
    config = ResumeConfig(finished=go_on, unfinished=go_on, errored=go_on)
    tuner = tune.Tuner.restore(str(folder), trainable, _resume_config=config)
    assert tuner._local_tuner is not None, "no Ray client"
    tuner._local_tuner.get_run_config().callbacks = list(callbacks)
    tuner._local_tuner._tune_config.scheduler = scheduler
    return tuner


def forget_results(controller: TuneController) -> None:
    """Drops Tune's references to iterations that have been reported.

    Tune keeps one per iteration until the trial ends, and with it the result of some 10 kB: a
    gigabyte a day for a few trials.
    """
    manager = controller._actor_manager
    awaited = manager._actor_task_events.get_futures()
    for futures in manager._tracked_actors_to_task_futures.values():
        futures &= awaited


def keep_readable_state(folder: Path) -> bool:
    """Whether `stored_tuner` finds a readable state; deletes state files that are half written.

    Tune overwrites a session's state in place, and a kill or a full disk may leave half of it.
    Without those files, Tune reads the state of the session before, if there was one.
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
    except Exception:  # unpickling half a file may raise anything
        return False
    return True


def keep_credentials_here() -> None:
    """Keeps Tune from passing AWS keys to trials, because Ray would write them into a log.

    Trials on this machine inherit the environment; nodes of a cluster have their own.
    """
    class_cache.ENV_VARS_TO_PROPAGATE.difference_update(
        [name for name in class_cache.ENV_VARS_TO_PROPAGATE if name.startswith("AWS_")]
    )


def loopback_only() -> contextlib.AbstractContextManager[None]:
    """Has a Ray that is started in this context listen on 127.0.0.1 only, as it does on macOS.

    On Linux, Ray otherwise takes the machine's own address, even if `_node_ip_address` is
    "127.0.0.1", and its servers listen on all addresses.
    """
    return _replaced(ray_constants, "ENABLE_RAY_CLUSTER", False)


def apart_from_signals() -> contextlib.AbstractContextManager[None]:
    """Has a Ray that is started in this context, trials included, run in its own process groups.

    A SIGTERM to this process's group, as `timeout` and batch systems send it, would otherwise end
    Ray before the trials have saved. Ray's processes still end with this one.
    """
    return _replaced(services, "ConsolePopen", partial(services.ConsolePopen, process_group=0))


@contextlib.contextmanager
def handlers_left() -> Iterator[None]:
    """Has a Ray that is started or joined in this context keep this process's signal handlers.

    On SIGTERM, Ray's own would abort with a stack trace from C++, or exit silently.
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
    """Replaces a trial's checkpoints by `whole`: checkpoints with their results, oldest first.

    The trial resumes from the last one and numbers the next from there; without any it starts over.
    """
    before, storage = trial.run_metadata.checkpoint_manager, trial.storage
    assert before is not None and storage is not None, "a trial of a run that Tune keeps"
    trial.run_metadata.checkpoint_manager = _CheckpointManager(before.checkpoint_config)
    for path, result in whole:
        checkpoint = tune.Checkpoint.from_directory(str(path))
        trial.on_checkpoint(_TrainingResult(checkpoint, result))
    storage.current_checkpoint_index = int(whole[-1][0].name.rpartition("_")[2]) if whole else -1
