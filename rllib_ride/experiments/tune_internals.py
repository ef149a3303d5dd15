"""All that running experiments takes from Ray and Tune without Ray's promise to keep it.

Written for Ray 2.60, as `rllib_ride/rllib/ray_internals.py` is for RLlib.
"""

from __future__ import annotations

import json
import pickle
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ray import tune
from ray._private.services import canonicalize_bootstrap_address
from ray.train._internal.checkpoint_manager import _CheckpointManager
from ray.train._internal.session import _TrainingResult
from ray.tune import ResumeConfig

if TYPE_CHECKING:
    from ray.tune.experiment import Trial as TuneTrial


def resolve_address(address: str) -> str | None:
    """`HOST:PORT` of a cluster; of the one this machine is a node of if `address` is `auto`.

    Raises:
        ConnectionError, OSError, ValueError: it is no address.
    """
    return canonicalize_bootstrap_address(address)


def has_whole_state(folder: Path) -> bool:
    """Whether what Tune keeps of a run as a whole is there and can be read.

    Tune writes them in place, so a kill may leave half of one; it reads the newest of each.
    """
    readers: dict[str, Any] = {
        "tuner.pkl": pickle,
        "experiment_state-*.json": json,
        "basic-variant-state-*.json": pickle,  # for all its name
    }
    try:
        for pattern, reader in readers.items():
            reader.loads(max(folder.glob(pattern)).read_bytes())
    except Exception:  # of half a pickle, it may be almost any
        return False
    return True


def stored_tuner(
    folder: Path,
    trainable: type[tune.Trainable],
    callbacks: Sequence[tune.Callback] = (),
    *,
    finished_too: bool = False,
) -> tune.Tuner:
    """The run in `folder`, whose trials go on: failed ones, and finished ones if so asked."""
    go_on: Any = ResumeConfig.ResumeType.RESUME  # Ray declares a string
    finished: Any = go_on if finished_too else ResumeConfig.ResumeType.SKIP
    config = ResumeConfig(finished=finished, unfinished=go_on, errored=go_on)
    tuner = tune.Tuner.restore(str(folder), trainable, _resume_config=config)
    # Tune would go on with the callbacks of the first start, such as its W&B mode.
    assert tuner._local_tuner is not None, "no Ray client"
    tuner._local_tuner.get_run_config().callbacks = list(callbacks)
    return tuner


def register_checkpoints(trial: TuneTrial, whole: Sequence[tuple[Path, dict[str, Any]]]) -> None:
    """Gives a trial these checkpoints, oldest first and each with its result, in place of its own.

    The last one is where it goes on, and its number the one that the next is counted from.
    """
    before, storage = trial.run_metadata.checkpoint_manager, trial.storage
    assert before is not None and storage is not None, "a trial of a run that Tune keeps"
    trial.run_metadata.checkpoint_manager = _CheckpointManager(before.checkpoint_config)
    for path, result in whole:
        checkpoint = tune.Checkpoint.from_directory(str(path))
        trial.on_checkpoint(_TrainingResult(checkpoint, result))
    storage.current_checkpoint_index = int(whole[-1][0].name.rpartition("_")[2])
