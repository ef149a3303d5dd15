"""The intrinsic networks as an RLModule beside the policy's."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Collection
from typing import Any

import torch
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.core import DEFAULT_MODULE_ID
from ray.rllib.core.columns import Columns
from ray.rllib.core.rl_module.apis import SelfSupervisedLossAPI
from ray.rllib.core.rl_module.multi_rl_module import MultiRLModule
from ray.rllib.core.rl_module.torch.torch_rl_module import TorchRLModule

from rllib_ride.intrinsic.method import IntrinsicMethod
from rllib_ride.intrinsic.transitions import Transitions
from rllib_ride.rllib.settings import (
    EPISODE_IDS,
    EPISODIC_COUNTS,
    INTRINSIC_MODULE_ID,
    INTRINSIC_REWARDS,
    STATE_KEYS,
    T_STARTED,
)
from rllib_ride.rllib.visits import observation_entry

PAPER_UNROLL = 100
"""Steps that the paper's losses are summed over (its table 2)."""


class IntrinsicModule(TorchRLModule, SelfSupervisedLossAPI):
    """Wraps an `IntrinsicMethod`; lives on the Learner only (`learner_only=True`).

    `model_config` holds `method`, the registered name, `method_class`, the class (other processes
    need not have registered it), `method_config`, its arguments, `counts`, what N_ep counts, and
    `observation_key`, the entry of a Dict observation that it sees.

    Attributes:
        method: The networks, the bonus and the loss.
        weights_lock: Given by the Learner that trains this copy (IMPALA's learner thread updates
            weights while connectors read them). None in every other copy, an AggregatorActor's.
    """

    method: IntrinsicMethod

    def setup(self) -> None:
        """Builds the method for the spaces of this module."""
        space: Any = self.observation_space
        self._entry = observation_entry(space, self.model_config.get("observation_key"))
        self.method = self.model_config["method_class"](
            space if self._entry is None else space[self._entry],
            self.action_space,
            **self.model_config["method_config"],
        )
        self.weights_lock: threading.RLock | None = None

    @property
    def is_trained_here(self) -> bool:
        """Whether this copy's weights are the current ones."""
        return self.weights_lock is not None

    def no_sync(self) -> contextlib.AbstractContextManager[None]:
        """For several Learners and a method that trains nothing: there is nothing to share.

        RLlib asks each module for it; the others are DistributedDataParallel by then.
        """
        return contextlib.nullcontext()

    def seen(self, obs: Any) -> Any:
        """What the method sees of an observation: a Dict's entry, or the observation itself."""
        return obs if self._entry is None else obs[self._entry]

    def _forward(self, batch: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
        # Bonus and loss need the transitions as a whole, not a forward pass.
        return {}

    def bonus(self, columns: dict[str, Any]) -> torch.Tensor:
        """The bonus of each transition before its coefficient.

        Args:
            columns: RLlib's columns, batch-major.

        Returns:
            `[B, T + 1]`; zero for padding and for the last entry of a row, where nothing is done.
        """
        assert self.weights_lock is not None
        transitions = self._transitions(columns)
        for parameter in self.parameters():
            # IMPALA moves a batch to the GPU after the connectors that ask for the bonus.
            transitions = transitions.to(parameter.device)
            break
        with self.weights_lock, torch.no_grad():
            bonus = self.method.bonus(transitions)  # [T, B]
        return torch.nn.functional.pad(bonus.T, (0, 1)).to(columns[Columns.REWARDS].device)

    def compute_self_supervised_loss(
        self,
        *,
        learner: Any,
        module_id: str,
        config: Any,
        batch: dict[str, Any],
        fwd_out: dict[str, Any],
        **kwargs: Any,
    ) -> torch.Tensor:
        """Loss of the intrinsic networks on the batch the policy learns from; logs its metrics."""
        transitions = self._transitions(batch)
        loss, metrics = self.method.loss(transitions)
        if isinstance(config, PPOConfig):
            # Its rows are single transitions, and it has no unroll to sum over.
            loss = loss * PAPER_UNROLL
        mask = batch[Columns.LOSS_MASK]
        learner.metrics.log_dict(
            {
                **{name: value.detach() for name, value in metrics.items()},
                "intrinsic_reward_mean": batch[INTRINSIC_REWARDS][mask].mean(),
            },
            key=module_id,
            window=1,
        )
        return loss

    def get_state(
        self,
        components: str | Collection[str] | None = None,
        *,
        not_components: str | Collection[str] | None = None,
        inference_only: bool = False,
        **kwargs: Any,
    ) -> dict[str, Any]:
        """As RLlib's, but empty where only acting matters: EnvRunners must not be sent this."""
        if inference_only:
            return {}
        return super().get_state(components, not_components=not_components, **kwargs)

    def _transitions(self, columns: dict[str, Any]) -> Transitions:
        """RLlib's batch-major columns `[B, T + 1, ...]` as time-major transitions."""
        return Transitions(
            obs=self.seen(columns[Columns.OBS]).transpose(0, 1),  # [T + 1, B, ...]
            actions=columns[Columns.ACTIONS][:, :-1].transpose(0, 1),  # [T, B, ...]
            episodic_counts=columns[EPISODIC_COUNTS][:, :-1].transpose(0, 1),  # [T, B]
            mask=columns[Columns.LOSS_MASK][:, :-1].transpose(0, 1),  # [T, B]
            state_keys=columns[STATE_KEYS][:, :-1].transpose(0, 1),  # [T, B]
            episode_ids=columns[EPISODE_IDS],  # [B]
            t_started=columns[T_STARTED],  # [B]
        )


class SharedEmbedding(MultiRLModule):
    """Policy and intrinsic networks around one embedding, for methods that share it."""

    def setup(self) -> None:
        """Builds both modules, then gives the policy's embedding to the method."""
        super().setup()
        if INTRINSIC_MODULE_ID in self:  # EnvRunners have the policy alone
            policy: Any = self[DEFAULT_MODULE_ID]
            intrinsic: Any = self[INTRINSIC_MODULE_ID]
            intrinsic.method.share(policy.network.embedding)
