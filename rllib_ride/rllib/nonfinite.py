"""Finds the source of non-finite numbers in an update, and saves its batch."""

from __future__ import annotations

import io
import os
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import torch
import tree
from ray.rllib.core.columns import Columns
from torch import Tensor

from rllib_ride.rllib.settings import INTRINSIC_REWARDS

MOST_FILES = 3
"""Number of batches kept in a folder: the first ones, which are nearest to the cause."""

_KEY_IN_LEARNER_CONFIG = "nonfinite_folder"


class NonFiniteError(ArithmeticError):
    """A loss, a bonus or a gradient is not finite; the message is one line."""


def keep_batches_in(config: Any, folder: str | Path) -> None:
    """Sets where a config's Learners save such batches; the default is the working directory."""
    config.learners(
        learner_config_dict={**config.learner_config_dict, _KEY_IN_LEARNER_CONFIG: str(folder)}
    )


def folder_of(config: Any) -> Path:
    """Where a config's Learners save such batches."""
    return Path(config.learner_config_dict.get(_KEY_IN_LEARNER_CONFIG, ".")).absolute()


def save_batch(path: Path, content: Mapping[str, Any]) -> str:
    """Saves the data of an update, for `torch.load(path, weights_only=True)`.

    Writes at most `MOST_FILES` to a folder, and only if the disk has ten times the file's size
    free, so that checkpoints keep their room.

    Args:
        path: Of the new file.
        content: Nested mappings and lists with tensors, arrays, numbers and strings.

    Returns:
        Where the batch is, or why it was not saved: the end of a sentence starting "the batch".
    """
    if path.exists():  # another minibatch of the same update
        return f"is in {path}"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if len(list(path.parent.glob(f"nonfinite_*{path.suffix}"))) >= MOST_FILES:
            return f"is not kept: {path.parent} has {MOST_FILES} already"
        file = io.BytesIO()
        torch.save(_plain(content), file)
        if shutil.disk_usage(path.parent).free < 10 * file.tell():
            return f"is not kept: there is too little room in {path.parent}"
        part = path.with_name(f"{path.name}.part")
        part.write_bytes(file.getbuffer())
        os.replace(part, path)
    except OSError as error:
        return f"could not be kept: {error}"
    return f"is in {path}"


def is_finite(value: Any) -> bool:
    """Whether all tensors and floats in a tree are finite; ignores all other leaves."""
    numbers = (x for x in tree.flatten(value) if isinstance(x, Tensor | float))
    return all(bool(torch.isfinite(torch.as_tensor(x)).all()) for x in numbers)


def causes(
    batch: Mapping[str, Mapping[str, Any]], weights: Mapping[str, list[Tensor]], method: str
) -> Iterator[tuple[str, str]]:
    """Finds the inputs of the losses that are not finite, earliest in the computation first.

    Args:
        batch: `{module ID: columns}`.
        weights: Parameters of each network, by its name.
        method: Name of the intrinsic reward's method.

    Yields:
        The input's name and a hint.
    """
    columns: dict[str, Any] = {}
    for of_module in batch.values():
        columns.update(of_module)
    if not is_finite(columns.get(Columns.OBS)):
        yield "the observations", "look at what the environment gives"
    for name, tensors in weights.items():
        if not is_finite(tensors):
            yield f"the weights of {name}", "go on from a checkpoint with a lower learning rate"
    if not is_finite(columns.get(INTRINSIC_REWARDS)):
        yield (
            f"the bonus of method {method!r}",
            "lower 'lr', the learning rate of the intrinsic networks",
        )
    elif not is_finite(columns.get(Columns.REWARDS)):
        yield "the rewards", "look at what the environment gives"
    if not is_finite(columns.get(Columns.STATE_IN)):
        yield "the policy's recurrent state", "lower the policy's learning rate"
    if not is_finite([columns.get(Columns.ACTIONS), columns.get(Columns.ACTION_LOGP)]):
        yield "the actions and their probabilities", "lower the policy's learning rate"


def _plain(value: Any) -> Any:
    """Converts to dicts and lists of tensors, numbers and strings, for `weights_only=True`."""
    if isinstance(value, Mapping):
        return {str(key): _plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    if isinstance(value, Tensor):
        return value.detach().cpu().clone()
    if isinstance(value, str | int | float | bool) or value is None:
        return value
    return torch.as_tensor(value)
