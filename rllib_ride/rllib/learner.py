"""The Learner that trains policy and intrinsic networks side by side."""

from __future__ import annotations

import threading
from typing import Any

import torch
from ray.rllib.algorithms.algorithm_config import AlgorithmConfig
from ray.rllib.core import DEFAULT_MODULE_ID
from ray.rllib.core.learner.torch.torch_learner import TorchLearner

from rllib_ride.rllib.connectors import add_intrinsic_rewards
from rllib_ride.rllib.ray_internals import FailingLoudly
from rllib_ride.rllib.settings import (
    INTRINSIC_MODULE_ID,
    INTRINSIC_REWARDS,
    PAPER_RMSPROP,
    IntrinsicSettings,
)


class IntrinsicLearner(TorchLearner):
    """Adds to an algorithm's Learner what an intrinsic reward needs; mix in before it.

    The policy keeps the algorithm's own loss and never feels the intrinsic one; the intrinsic
    networks have their own loss, optimizers and gradient clip, and a rate that is not annealed.
    """

    def build(self) -> None:
        """Builds as usual, then marks the intrinsic module as the copy that is trained."""
        if self.config.num_learners > 1:
            raise ValueError(
                f"num_learners={self.config.num_learners} is not supported with an intrinsic "
                "reward: the intrinsic networks of several Learners would drift apart; use 0 or 1"
            )
        self._settings = IntrinsicSettings.of(self.config)
        self._weights_lock = threading.RLock()
        super().build()
        if self._settings.has_bonus:
            self.module[INTRINSIC_MODULE_ID].unwrapped().weights_lock = self._weights_lock

    def configure_optimizers_for_module(
        self, module_id: str, config: AlgorithmConfig | None = None
    ) -> None:
        """RMSProp for each network; one optimizer a network, so that each is clipped by itself."""
        assert config is not None
        module = self.module[module_id].unwrapped()
        if module_id == INTRINSIC_MODULE_ID:
            rmsprop = self._settings.rmsprop or PAPER_RMSPROP
            networks, lr = dict(module.method.named_children()), self._settings.lr
        elif self._settings.rmsprop is None:
            super().configure_optimizers_for_module(module_id, config)
            return
        else:
            rmsprop = self._settings.rmsprop
            networks, lr = {"policy": module}, config.lr
        for name, network in networks.items():
            parameters = [p for p in network.parameters() if p.requires_grad]
            if parameters:
                # RLlib sets the rate, from its schedule, right after.
                optimizer = torch.optim.RMSprop(parameters, lr=0.0, **rmsprop)
                self.register_optimizer(
                    module_id=module_id,
                    optimizer_name=name,
                    optimizer=optimizer,
                    params=parameters,
                    lr_or_lr_schedule=lr,
                )

    def compute_losses(
        self, *, fwd_out: dict[str, Any], batch: dict[str, Any]
    ) -> dict[str, torch.Tensor]:
        """As RLlib's; a batch from an AggregatorActor gets its bonus here, from current weights."""
        if self._settings.has_bonus and INTRINSIC_REWARDS not in batch[DEFAULT_MODULE_ID]:
            intrinsic = self.module[INTRINSIC_MODULE_ID].unwrapped()
            add_intrinsic_rewards(batch[DEFAULT_MODULE_ID], intrinsic, self._settings)
            batch[INTRINSIC_MODULE_ID][INTRINSIC_REWARDS] = batch[DEFAULT_MODULE_ID][
                INTRINSIC_REWARDS
            ]
        return super().compute_losses(fwd_out=fwd_out, batch=batch)

    def compute_loss_for_module(
        self,
        *,
        module_id: str,
        config: AlgorithmConfig,
        batch: dict[str, Any],
        fwd_out: dict[str, Any],
    ) -> torch.Tensor:
        """The algorithm's loss, as a sum over time if so set (RLlib's is a mean over all)."""
        loss = super().compute_loss_for_module(
            module_id=module_id, config=config, batch=batch, fwd_out=fwd_out
        )
        if self._settings.sum_over_time:
            loss = loss * config.get_rollout_fragment_length()
        return loss

    def apply_gradients(self, gradients_dict: dict[Any, torch.Tensor]) -> None:
        """Applies gradients while no connector reads the weights."""
        with self._weights_lock:
            super().apply_gradients(gradients_dict)


class IntrinsicIMPALALearner(IntrinsicLearner, FailingLoudly):
    """IMPALA with an intrinsic reward."""
