"""Saves a checkpoint's network weights in a separate file that is safe to load.

RLlib keeps them in pickles, which can run arbitrary code when loaded. This file is PyTorch's, read
with `weights_only=True`; the seal (JSON) describes how to build the networks.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import gymnasium as gym
import numpy as np
import torch
import tree
from ray.rllib.core import DEFAULT_MODULE_ID
from torch import Tensor

if TYPE_CHECKING:
    from ray.rllib.algorithms.algorithm import Algorithm

WEIGHTS_FILE = "weights.pt"


def save_weights(algorithm: Algorithm, folder: str | Path) -> None:
    """Writes the state of every RLModule to `WEIGHTS_FILE`, as CPU tensors."""
    states = algorithm.learner_group.get_weights()  # NumPy arrays
    torch.save(tree.map_structure(_as_tensor, states), Path(folder, WEIGHTS_FILE))


def load_weights(folder: Path, module_id: str = DEFAULT_MODULE_ID) -> dict[str, Tensor]:
    """Loads the state of one RLModule of a checkpoint, for `load_state_dict`.

    Raises:
        FileNotFoundError, KeyError, RuntimeError, UnpicklingError: The file is missing, has no
            such module, is incomplete, or holds more than tensors and plain values.
    """
    # mmap: avoids reading other modules, such as a large table of visits.
    states = torch.load(
        folder.resolve() / WEIGHTS_FILE, map_location="cpu", weights_only=True, mmap=True
    )
    return states[module_id]


def module_configs(algorithm: Algorithm) -> dict[str, dict[str, Any]]:
    """The `model_config` of each RLModule, by ID, without the method's class (its name is kept)."""
    spec = algorithm.config.rl_module_spec
    return {
        module_id: {k: v for k, v in (one.model_config or {}).items() if k != "method_class"}
        for module_id, one in spec.rl_module_specs.items()
    }


def module_spaces(algorithm: Algorithm) -> tuple[gym.Space, gym.Space]:
    """Observation and action space of the policy's RLModule."""
    module = algorithm.get_module(DEFAULT_MODULE_ID)
    return module.observation_space, module.action_space


def _as_tensor(value: Any) -> Any:
    return torch.as_tensor(value) if isinstance(value, np.ndarray | np.generic) else value
