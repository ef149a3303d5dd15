"""Checkpoints of trials: sealed when saved, and verified when a run resumes.

Tune copies a checkpoint into the trial's folder file by file. The seal, written before the copy,
lists the files with their hashes. A checkpoint is whole if every listed file has arrived intact.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rllib_ride.experiments.trial import Trial
from rllib_ride.rllib.weights import module_configs, module_spaces
from rllib_ride.seal import (
    HalfSeal,
    SealError,
    check_seal,
    read_seal,
    space_text,
    verified,
    write_seal,
)

if TYPE_CHECKING:
    from ray.rllib.algorithms.algorithm import Algorithm


def seal(folder: str | Path, result: Mapping[str, Any], **facts: Any) -> None:
    """Seals a checkpoint with the trial's latest result and other facts."""
    write_seal(Path(folder), {**facts, "frames": result.get("frames", 0), "result": result})


def identity(trial: Trial, algorithm: Algorithm) -> dict[str, Any]:
    """The facts that a checkpoint must match for this trial to resume from it."""
    observation_space, action_space = module_spaces(algorithm)
    return {
        "method": trial.method,
        "env": trial.env,
        "env_options": trial.env_options,
        "observation_space": space_text(observation_space),
        "action_space": space_text(action_space),
        "modules": module_configs(algorithm),
    }


def result_of(folder: Path) -> dict[str, Any] | None:
    """The result that a checkpoint was sealed with; None if the checkpoint is not whole."""
    try:
        return verified(folder)["result"]
    except (OSError, SealError):
        return None


def refuse_others(trial: Trial, trial_folder: Path) -> None:
    """Refuses, before a trial starts, checkpoints of another trial or of a newer format.

    Skips checkpoints without a whole seal. The trial itself checks observation and action spaces,
    because finding them out takes an environment.

    Raises:
        SealError: Describes the newest such checkpoint.
    """
    wanted = {"method": trial.method, "env": trial.env, "env_options": trial.env_options}
    for folder in sorted(trial_folder.glob("checkpoint_*"), reverse=True):
        with contextlib.suppress(HalfSeal):
            check_seal(folder, read_seal(folder), wanted)


def whole_checkpoints(trial_folder: Path) -> list[tuple[Path, dict[str, Any]]]:
    """A trial's whole checkpoints with their results, oldest first."""
    found = [(path, result_of(path)) for path in sorted(trial_folder.glob("checkpoint_*"))]
    return [(path, result) for path, result in found if result is not None]
