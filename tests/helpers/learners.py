"""A Learner with a tabular policy, whose outputs and gradients can be set and read directly."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import torch
from ray.rllib.algorithms.impala import IMPALAConfig
from ray.rllib.core import DEFAULT_MODULE_ID
from ray.rllib.core.columns import Columns
from ray.rllib.core.rl_module.apis import ValueFunctionAPI
from ray.rllib.core.rl_module.multi_rl_module import MultiRLModuleSpec
from ray.rllib.core.rl_module.rl_module import RLModuleSpec
from ray.rllib.core.rl_module.torch.torch_rl_module import TorchRLModule

from rllib_ride.intrinsic import get_method
from rllib_ride.rllib.learner import IntrinsicIMPALALearner
from rllib_ride.rllib.module import IntrinsicModule
from rllib_ride.rllib.settings import INTRINSIC_MODULE_ID, IntrinsicSettings

NO_BONUS = IntrinsicSettings(method="none", sum_over_time=True)


class TablePolicy(TorchRLModule, ValueFunctionAPI):
    """Returns the same logits [B, T + 1, A] and values [B, T + 1] for any observation."""

    def setup(self) -> None:
        self.logits = torch.nn.Parameter(torch.as_tensor(self.model_config["logits"]))
        self.values = torch.nn.Parameter(torch.as_tensor(self.model_config["values"]))

    def _forward(self, batch: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
        return {Columns.ACTION_DIST_INPUTS: self.logits}

    def compute_values(self, batch: dict[str, Any], embeddings: Any = None) -> torch.Tensor:
        return self.values


def table_learner(
    logits: np.ndarray,
    values: np.ndarray,
    *,
    observation_space: gym.Space | None = None,
    settings: IntrinsicSettings = NO_BONUS,
    **training: Any,
) -> IntrinsicIMPALALearner:
    """A built learner whose policy is a `TablePolicy`.

    Args:
        logits: [B, T + 1, A].
        values: [B, T + 1].
        observation_space: Read by the intrinsic module, if the settings' method has one.
        settings: Of the intrinsic reward.
        **training: For `config.training`.
    """
    tables = {"logits": logits, "values": values}
    specs = {DEFAULT_MODULE_ID: RLModuleSpec(module_class=TablePolicy, model_config=tables)}
    if settings.has_bonus:
        specs[INTRINSIC_MODULE_ID] = RLModuleSpec(
            module_class=IntrinsicModule,
            learner_only=True,
            model_config={
                "method": settings.method,
                "method_class": get_method(settings.method),
                "method_config": settings.method_config,
            },
        )
    config = (
        IMPALAConfig()
        .env_runners(rollout_fragment_length=values.shape[1] - 1)
        .learners(learner_class=IntrinsicIMPALALearner)
        .training(**training)
        .rl_module(rl_module_spec=MultiRLModuleSpec(rl_module_specs=specs))
    )
    settings.store_in(config)
    spaces = (
        observation_space or gym.spaces.Box(0, 1, (1,), np.float32),
        gym.spaces.Discrete(logits.shape[-1]),
    )
    learner = config.build_learner(spaces=dict.fromkeys(specs, spaces))
    assert isinstance(learner, IntrinsicIMPALALearner)
    return learner


def logged(learner: IntrinsicIMPALALearner, module_id: str, name: str) -> float:
    """The value last logged for a module."""
    return float(torch.as_tensor(learner.metrics.peek((module_id, name))).detach())
