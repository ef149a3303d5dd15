"""The intrinsic networks as an RLModule beside the policy's."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Collection
from typing import Any

import gymnasium as gym
import torch
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.core import DEFAULT_MODULE_ID
from ray.rllib.core.columns import Columns
from ray.rllib.core.rl_module.apis import SelfSupervisedLossAPI
from ray.rllib.core.rl_module.multi_rl_module import MultiRLModule
from ray.rllib.core.rl_module.torch.torch_rl_module import TorchRLModule

from rllib_ride.intrinsic.method import IntrinsicMethod
from rllib_ride.intrinsic.spaces import is_bytes
from rllib_ride.intrinsic.transitions import Transitions
from rllib_ride.rllib.settings import (
    EPISODE_IDS,
    EPISODIC_COUNTS,
    INTRINSIC_MODULE_ID,
    STATE_KEYS,
    T_STARTED,
)
from rllib_ride.rllib.visits import observation_entry

TRANSITIONS = "transitions"
"""What a forward pass for training gives: the batch as the method reads it."""

FROM_BYTES = "from_bytes"
"""Set in `model_config` where connectors have to do with bytes, and may make others of them."""

PAPER_UNROLL = 100
"""Steps that the paper's losses are summed over (its table 2)."""


class IntrinsicModule(TorchRLModule, SelfSupervisedLossAPI):
    """Wraps an `IntrinsicMethod`; lives on the Learner only (`learner_only=True`).

    `model_config` holds `method`, the registered name, `method_class`, the class (other processes
    need not have registered it), `method_config`, its arguments, `counts`, what N_ep counts,
    `observation_key`, the entry of a Dict observation that it sees, and perhaps `FROM_BYTES`.

    Attributes:
        method: The networks, the bonus and the loss.
    """

    method: IntrinsicMethod

    def setup(self) -> None:
        """Builds the method for the spaces of this module."""
        space: Any = self.observation_space
        key = self.model_config.get("observation_key")
        if not isinstance(space, gym.spaces.Dict):
            key = None  # the environment's, which connectors have made one array of
        self._entry = observation_entry(space, key)
        space = space if self._entry is None else space[self._entry]
        if self.model_config.get(FROM_BYTES) and not _is_scaled(space):
            warnings.warn(
                f"the environment's bytes reach the intrinsic networks as {space}, which they do "
                "not divide by 255: have connectors leave uint8, or make floats from 0 to 1 in "
                "the environment, by gymnasium.wrappers.DtypeObservation and RescaleObservation",
                stacklevel=2,
            )
        self.method = self.model_config["method_class"](
            space, self.action_space, **self.model_config["method_config"]
        )

    def no_sync(self) -> contextlib.AbstractContextManager[None]:
        """For several Learners and a method that trains nothing: there is nothing to share.

        RLlib asks each module for it; the others are DistributedDataParallel by then.
        """
        return contextlib.nullcontext()

    def seen(self, obs: Any) -> Any:
        """What the method sees of an observation: a Dict's entry, or the observation itself."""
        return obs if self._entry is None else obs[self._entry]

    def _forward(self, batch: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
        return {TRANSITIONS: self.transitions(batch).for_one_update()}

    def bonus(self, transitions: Transitions) -> torch.Tensor:
        """The bonus of each transition before its coefficient.

        Returns:
            `[B, T + 1]`, batch-major as RLlib's columns; zero for padding and for the last entry of
            a row, where nothing is done.
        """
        with torch.no_grad():
            return torch.nn.functional.pad(self.method.bonus(transitions).T, (0, 1))

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
        loss, metrics = self.method.loss(fwd_out[TRANSITIONS])
        if isinstance(config, PPOConfig):
            # Its rows are single transitions, and it has no unroll to sum over.
            loss = loss * PAPER_UNROLL
        logged = {name: value.detach() for name, value in metrics.items()}
        learner.metrics.log_dict(logged, key=module_id, window=1)
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

    def transitions(self, columns: dict[str, Any]) -> Transitions:
        """RLlib's batch-major columns `[B, T + 1, ...]` as time-major transitions."""
        terminated = columns.get(Columns.TERMINATEDS)  # PPO's single transitions have none
        return Transitions(
            obs=self.seen(columns[Columns.OBS]).transpose(0, 1),  # [T + 1, B, ...]
            actions=columns[Columns.ACTIONS][:, :-1].transpose(0, 1),  # [T, B, ...]
            episodic_counts=columns[EPISODIC_COUNTS][:, :-1].transpose(0, 1),  # [T, B]
            mask=columns[Columns.LOSS_MASK][:, :-1].transpose(0, 1),  # [T, B]
            state_keys=columns[STATE_KEYS][:, :-1].transpose(0, 1),  # [T, B]
            episode_ids=columns[EPISODE_IDS],  # [B]
            t_started=columns[T_STARTED],  # [B]
            # Whether another piece follows a truncated one is not told; by default none is.
            ended=None if terminated is None else terminated.any(dim=1),  # [B]
        )


def _is_scaled(space: gym.Space) -> bool:
    """Whether observations are from -1 to 1, or bytes, which are made so."""
    if is_bytes(space):
        return True
    return isinstance(space, gym.spaces.Box) and bool(
        (space.low >= -1).all() and (space.high <= 1).all()
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
