"""The bonus of an episode, by the intrinsic networks of a checkpoint."""

from __future__ import annotations

import copy
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from ray.rllib.core.rl_module.torch import TorchRLModule

from rllib_ride.analysis.policy import UNREADABLE
from rllib_ride.intrinsic import Transitions
from rllib_ride.rllib.module import IntrinsicModule
from rllib_ride.rllib.ray_internals import module_folder
from rllib_ride.rllib.settings import INTRINSIC_MODULE_ID


def load_intrinsic(checkpoint: Path) -> IntrinsicModule | None:
    """The intrinsic networks in a checkpoint; None if it was trained without.

    Raises:
        ValueError: They are not whole, or of a method that is not importable here.
    """
    path = module_folder(checkpoint, INTRINSIC_MODULE_ID)
    if not path.is_dir():
        return None
    try:
        module = TorchRLModule.from_checkpoint(str(path.resolve()))
    except (ImportError, *UNREADABLE) as error:
        raise ValueError(
            f"{checkpoint}: its intrinsic networks cannot be loaded: "
            f"{type(error).__name__}: {error}"
        ) from error
    assert isinstance(module, IntrinsicModule)
    module.eval()
    return module


def episode_bonuses(
    intrinsic: IntrinsicModule,
    *,
    observations: NDArray,
    actions: NDArray,
    state_keys: NDArray[np.int64],
    episodic_counts: NDArray[np.int64],
) -> NDArray[np.float64]:
    """What the method pays for each of an episode's T transitions, `[T]`, before its coefficient.

    As if the episode came next after the checkpoint: what a method counts or keeps from batch to
    batch stays as the checkpoint has it.

    Args:
        intrinsic: The networks.
        observations: `[T + 1, ...]`, what they see.
        actions: `[T, ...]`.
        state_keys: Of the state reached, `[T]`.
        episodic_counts: N_ep of the state reached, `[T]`.
    """
    method = copy.deepcopy(intrinsic.method)
    with torch.no_grad():
        bonuses = method.bonus(
            Transitions(
                obs=torch.as_tensor(observations).unsqueeze(1),  # [T + 1, 1, ...]
                actions=torch.as_tensor(actions).unsqueeze(1),  # [T, 1]
                episodic_counts=torch.as_tensor(episodic_counts).unsqueeze(1),  # [T, 1]
                mask=torch.ones(len(actions), 1, dtype=torch.bool),
                state_keys=torch.as_tensor(state_keys).unsqueeze(1),  # [T, 1]
                episode_ids=torch.zeros(1, dtype=torch.long),
                t_started=torch.zeros(1, dtype=torch.long),
            )
        )  # [T, 1]
    return bonuses[:, 0].double().numpy(force=True)
