"""The intrinsic networks as an RLModule next to the policy."""

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
"""Output key of the training forward pass: the batch as `Transitions` for the method."""

FROM_BYTES = "from_bytes"
"""`model_config` key, set if custom connectors receive bytes, which they may convert."""

PAPER_UNROLL = 100
"""Unroll length T over which the paper sums its losses (table 2)."""


class IntrinsicModule(TorchRLModule, SelfSupervisedLossAPI):
    """Wraps an `IntrinsicMethod`; lives on the Learner only (`learner_only=True`).

    Keys of `model_config`:

    - `method`: the registered name.
    - `method_class`: the class, so that other processes need not have registered it.
    - `method_config`: keyword arguments of the class.
    - `counts`: what N_ep counts.
    - `observation_key`: the entry of a Dict observation that the method sees.
    - `FROM_BYTES`: optional, see there.

    Attributes:
        method: The networks, the bonus and the loss.
    """

    method: IntrinsicMethod

    def setup(self) -> None:
        """Builds the method for this module's spaces."""
        space: Any = self.observation_space
        key = self.model_config.get("observation_key")
        if not isinstance(space, gym.spaces.Dict):
            key = None  # of the environment's Dict, which connectors turned into one array
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
        """Does nothing: with several Learners, RLlib calls `no_sync` on every module.

        A module with trainable parameters is wrapped in DistributedDataParallel by then. A method
        that trains nothing is not, and has no gradients to synchronize.
        """
        return contextlib.nullcontext()

    def seen(self, obs: Any) -> Any:
        """The part of an observation that the method sees: one Dict entry, or all of it."""
        return obs if self._entry is None else obs[self._entry]

    def _forward(self, batch: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
        return {TRANSITIONS: self.transitions(batch).for_one_update()}

    def bonus(self, transitions: Transitions) -> torch.Tensor:
        """The bonus of each transition before its coefficient.

        Returns:
            `[B, T + 1]`, batch-major as RLlib's columns; zero for padding and for the last entry of
            a row, where no action is taken.
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
        """Loss of the intrinsic networks on the policy's batch; logs the method's metrics."""
        loss, metrics = self.method.loss(fwd_out[TRANSITIONS])
        if isinstance(config, PPOConfig):
            # PPO's rows are single transitions, with no unroll to sum over.
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
        """As RLlib's, but empty if `inference_only`: EnvRunners do not need this module."""
        if inference_only:
            return {}
        return super().get_state(components, not_components=not_components, **kwargs)

    def transitions(self, columns: dict[str, Any]) -> Transitions:
        """Converts RLlib's batch-major columns `[B, T + 1, ...]` to time-major `Transitions`."""
        terminated = columns.get(Columns.TERMINATEDS)  # absent in PPO's single transitions
        return Transitions(
            obs=self.seen(columns[Columns.OBS]).transpose(0, 1),  # [T + 1, B, ...]
            actions=columns[Columns.ACTIONS][:, :-1].transpose(0, 1),  # [T, B, ...]
            episodic_counts=columns[EPISODIC_COUNTS][:, :-1].transpose(0, 1),  # [T, B]
            mask=columns[Columns.LOSS_MASK][:, :-1].transpose(0, 1),  # [T, B]
            state_keys=columns[STATE_KEYS][:, :-1].transpose(0, 1),  # [T, B]
            episode_ids=columns[EPISODE_IDS],  # [B]
            t_started=columns[T_STARTED],  # [B]
            # `truncateds` does not tell a time limit from the end of a fragment. By default
            # (`time_limit_is_terminal`) a time limit sets `terminateds`.
            ended=None if terminated is None else terminated.any(dim=1),  # [B]
        )


def _is_scaled(space: gym.Space) -> bool:
    """Whether observations are in [-1, 1], or bytes, which the networks scale to [0, 1]."""
    if is_bytes(space):
        return True
    return isinstance(space, gym.spaces.Box) and bool(
        (space.low >= -1).all() and (space.high <= 1).all()
    )


class SharedEmbedding(MultiRLModule):
    """A MultiRLModule whose intrinsic method shares the policy's embedding."""

    def setup(self) -> None:
        """Builds both modules, then gives the policy's embedding to the method."""
        super().setup()
        if INTRINSIC_MODULE_ID in self:  # EnvRunners have only the policy
            policy: Any = self[DEFAULT_MODULE_ID]
            intrinsic: Any = self[INTRINSIC_MODULE_ID]
            intrinsic.method.share(policy.network.embedding)
