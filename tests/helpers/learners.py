"""A Learner on a policy that is a table: outputs and gradients can be set and read directly."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import torch
from ray.rllib.algorithms.impala import IMPALAConfig
from ray.rllib.core import DEFAULT_MODULE_ID
from ray.rllib.core.columns import Columns
from ray.rllib.core.rl_module.apis import ValueFunctionAPI
from ray.rllib.core.rl_module.rl_module import RLModuleSpec
from ray.rllib.core.rl_module.torch.torch_rl_module import TorchRLModule

from rllib_ride.rllib.learner import IntrinsicIMPALALearner
from rllib_ride.rllib.settings import IntrinsicSettings


class TablePolicy(TorchRLModule, ValueFunctionAPI):
    """Gives the same logits [B, T + 1, A] and values [B, T + 1] whatever it sees."""

    def setup(self) -> None:
        self.logits = torch.nn.Parameter(torch.as_tensor(self.model_config["logits"]))
        self.values = torch.nn.Parameter(torch.as_tensor(self.model_config["values"]))

    def _forward(self, batch: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
        return {Columns.ACTION_DIST_INPUTS: self.logits}

    def compute_values(self, batch: dict[str, Any], embeddings: Any = None) -> torch.Tensor:
        return self.values


def table_learner(
    logits: np.ndarray, values: np.ndarray, *, sum_over_time: bool = True, **training: Any
) -> IntrinsicIMPALALearner:
    """A built learner whose policy is a `TablePolicy`.

    Args:
        logits: [B, T + 1, A].
        values: [B, T + 1].
        sum_over_time: As in `IntrinsicSettings`.
        **training: For `config.training`.
    """
    config = (
        IMPALAConfig()
        .env_runners(rollout_fragment_length=values.shape[1] - 1)
        .training(learner_class=IntrinsicIMPALALearner, **training)
        .rl_module(
            rl_module_spec=RLModuleSpec(
                module_class=TablePolicy, model_config={"logits": logits, "values": values}
            )
        )
    )
    IntrinsicSettings(method="none", sum_over_time=sum_over_time).store_in(config)
    learner = config.build_learner(
        spaces={
            DEFAULT_MODULE_ID: (
                gym.spaces.Box(0, 1, (1,), np.float32),
                gym.spaces.Discrete(logits.shape[-1]),
            )
        }
    )
    assert isinstance(learner, IntrinsicIMPALALearner)
    return learner
