"""Computes the bonus of an episode with the intrinsic networks of a checkpoint."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from ray.rllib.core.rl_module.torch import TorchRLModule

from rllib_ride.analysis.policy import UNREADABLE, Policy, seal_with_weights
from rllib_ride.intrinsic import Transitions, get_method
from rllib_ride.rllib.module import IntrinsicModule
from rllib_ride.rllib.ray_internals import module_folder
from rllib_ride.rllib.settings import INTRINSIC_MODULE_ID
from rllib_ride.rllib.weights import load_weights


def load_intrinsic(checkpoint: Path, policy: Policy) -> IntrinsicModule | None:
    """Loads the intrinsic networks of a checkpoint; None if it was trained without a bonus.

    Args:
        checkpoint: As for `load_policy`; unpickled only if `load_policy` unpickles it.
        policy: The checkpoint's policy.

    Raises:
        ValueError: They are incomplete, or their method cannot be imported.
    """
    path = module_folder(checkpoint, INTRINSIC_MODULE_ID)
    if not path.is_dir():
        return None
    try:
        seal = seal_with_weights(checkpoint)
        if seal is None:
            module = TorchRLModule.from_checkpoint(str(path.resolve()))
        else:
            module = _load(checkpoint, seal["modules"][INTRINSIC_MODULE_ID], policy.module)
    except (ImportError, *UNREADABLE) as error:
        raise ValueError(
            f"{checkpoint}: its intrinsic networks cannot be loaded: "
            f"{type(error).__name__}: {error}"
        ) from error
    assert isinstance(module, IntrinsicModule)
    module.eval()
    return module


def _load(checkpoint: Path, config: Mapping[str, Any], policy: TorchRLModule) -> IntrinsicModule:
    """Loads PyTorch's weights into the networks that the seal describes."""
    module = IntrinsicModule(
        observation_space=policy.observation_space,
        action_space=policy.action_space,
        model_config={**config, "method_class": get_method(config["method"])},
    )
    module.load_state_dict(load_weights(checkpoint, INTRINSIC_MODULE_ID))
    return module


def episode_bonuses(
    intrinsic: IntrinsicModule,
    *,
    observations: NDArray,
    actions: NDArray,
    state_keys: NDArray[np.int64],
    episodic_counts: NDArray[np.int64],
) -> NDArray[np.float64]:
    """The bonus of each of an episode's T transitions, `[T]`, before its coefficient.

    Computed as if the episode came right after the checkpoint. The method's own state, such as
    counts, is not changed.

    Args:
        intrinsic: The networks.
        observations: What they see, `[T + 1, ...]`.
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
