"""Learners that train the policy and the intrinsic networks side by side."""

from __future__ import annotations

import functools
from typing import Any

import torch
from ray.rllib.algorithms.algorithm_config import AlgorithmConfig
from ray.rllib.algorithms.appo.torch.appo_torch_learner import APPOTorchLearner
from ray.rllib.algorithms.ppo.torch.ppo_torch_learner import PPOTorchLearner
from ray.rllib.core import DEFAULT_MODULE_ID
from ray.rllib.core.columns import Columns
from ray.rllib.core.learner.learner import Learner

from rllib_ride.intrinsic.transitions import Transitions
from rllib_ride.rllib.connectors import add_intrinsic_rewards, log_bonus, mean_bonus
from rllib_ride.rllib.finite_updates import FiniteUpdates
from rllib_ride.rllib.layouts import AddAdvantages, flatten_rows, max_seq_len
from rllib_ride.rllib.module import TRANSITIONS
from rllib_ride.rllib.ray_internals import FailingLoudly
from rllib_ride.rllib.settings import (
    INTRINSIC_MODULE_ID,
    INTRINSIC_REWARDS,
    PAPER_RMSPROP,
)

_KL_COEFFICIENT = "kl_coefficient"


class IntrinsicLearner(FiniteUpdates):
    """Mixin that adds an intrinsic reward to an algorithm's Learner; list it before that class.

    The policy keeps the algorithm's own loss and gets no gradient from the intrinsic one. The
    intrinsic networks have their own loss, optimizers and gradient clip, and a constant learning
    rate.
    """

    def build(self) -> None:
        """Builds as usual.

        Raises:
            ValueError: If the config's RLModules are not those of `add_intrinsic_reward`.
        """
        self._bonus_is_new = False
        super().build()
        if self._settings.has_bonus and INTRINSIC_MODULE_ID not in self.module:
            raise ValueError(
                "the config's RLModules lack the intrinsic networks: call config.rl_module(...) "
                "before add_intrinsic_reward, which keeps your module and adds its own"
            )

    def configure_optimizers_for_module(
        self, module_id: str, config: AlgorithmConfig | None = None
    ) -> None:
        """Creates one RMSProp optimizer per network, so that each is clipped separately.

        With `rmsprop=None` the policy keeps RLlib's optimizer.
        """
        assert config is not None
        module = self.module[module_id].unwrapped()
        others: set[torch.nn.Parameter] = set()
        if module_id == INTRINSIC_MODULE_ID:
            others = set(self.module[DEFAULT_MODULE_ID].parameters())  # of a shared embedding
            rmsprop = self._settings.rmsprop or PAPER_RMSPROP
            networks, lr = dict(module.method.named_children()), self._settings.lr
        elif self._settings.rmsprop is None:
            super().configure_optimizers_for_module(module_id, config)
            return
        else:
            rmsprop = self._settings.rmsprop
            networks, lr = {"policy": module}, config.lr
        for name, network in networks.items():
            parameters = [p for p in network.parameters() if p.requires_grad and p not in others]
            if parameters:
                # RLlib sets the learning rate from its schedule right after this.
                optimizer = torch.optim.RMSprop(parameters, lr=0.0, **rmsprop)
                self.register_optimizer(
                    module_id=module_id,
                    optimizer_name=name,
                    optimizer=optimizer,
                    params=parameters,
                    lr_or_lr_schedule=lr,
                )

    def compute_losses(self, *, fwd_out: dict[str, Any], batch: dict[str, Any]) -> dict[str, Any]:
        """Computes both losses, the intrinsic one first.

        If the batch has no bonus yet, it is computed from the same forward pass of the embedding
        and added to the reward before the policy's loss is computed.
        """
        if INTRINSIC_MODULE_ID not in fwd_out:
            return super().compute_losses(fwd_out=fwd_out, batch=batch)
        policy_out = dict(fwd_out)
        intrinsic_out = {INTRINSIC_MODULE_ID: policy_out.pop(INTRINSIC_MODULE_ID)}
        losses = super().compute_losses(fwd_out=intrinsic_out, batch=batch)
        rows = batch[INTRINSIC_MODULE_ID]
        is_new = INTRINSIC_REWARDS not in rows
        if is_new:
            self.add_bonus(batch, intrinsic_out[INTRINSIC_MODULE_ID][TRANSITIONS])
        mean = mean_bonus(rows)
        if is_new:
            log_bonus(self.metrics, mean)
        self.note_bonus(mean)
        return losses | super().compute_losses(fwd_out=policy_out, batch=batch)

    def add_bonus(self, batch: dict[str, Any], transitions: Transitions) -> None:
        """Adds the bonus of `transitions` to the rewards of their batch, `{module ID: columns}`."""
        rows, policy_batch = batch[INTRINSIC_MODULE_ID], batch[DEFAULT_MODULE_ID]
        self._bonus_is_new = True
        bonus = self.module[INTRINSIC_MODULE_ID].unwrapped().bonus(transitions)  # [B, T + 1]
        add_intrinsic_rewards(rows, bonus, self._settings)
        # The rewards of a feed-forward policy have no time axis.
        policy_batch[Columns.REWARDS] = rows[Columns.REWARDS].view_as(policy_batch[Columns.REWARDS])

    def take_back_batch(self) -> None:
        """Undoes what the method recorded of this batch if its bonus is from this update."""
        if self._bonus_is_new:
            self.module[INTRINSIC_MODULE_ID].unwrapped().method.take_back()

    def after_gradient_based_update(self, *, timesteps: dict[str, Any]) -> None:
        """As RLlib's."""
        super().after_gradient_based_update(timesteps=timesteps)
        self._bonus_is_new = False


class IntrinsicVTraceLearner(IntrinsicLearner, FailingLoudly):
    """The parts that the Learners of IMPALA and APPO share."""

    def before_learning(self, batch: dict[str, Any]) -> None:
        """Computes the bonus once for a batch that is used for several gradient steps."""
        if not self._settings.has_bonus or self.learns_once:
            return
        rows = batch[INTRINSIC_MODULE_ID]
        if INTRINSIC_REWARDS not in rows:
            self.add_bonus(batch, self.module[INTRINSIC_MODULE_ID].unwrapped().transitions(rows))
        log_bonus(self.metrics, mean_bonus(rows))

    @property
    def learns_once(self) -> bool:
        """Whether each batch is used for exactly one gradient step."""
        return self.config.num_epochs == 1 and self.config.minibatch_size is None

    def _update(self, batch: dict[str, Any]) -> tuple[Any, Any, Any]:
        """Updates on one minibatch; flattens rows over time if the policy is feed-forward."""
        if not self.module[DEFAULT_MODULE_ID].unwrapped().is_stateful():
            batch = {**batch, DEFAULT_MODULE_ID: flatten_rows(batch[DEFAULT_MODULE_ID])}
        return super()._update(batch)

    def compute_loss_for_module(
        self,
        *,
        module_id: str,
        config: AlgorithmConfig,
        batch: dict[str, Any],
        fwd_out: dict[str, Any],
    ) -> torch.Tensor:
        """The algorithm's loss: RLlib's mean, times T if `sum_over_time` is set."""
        num_steps = config.get_rollout_fragment_length()
        if Columns.SEQ_LENS not in batch:
            config = self._config_of_rows
        loss = super().compute_loss_for_module(
            module_id=module_id, config=config, batch=batch, fwd_out=fwd_out
        )
        return loss * num_steps if self._settings.sum_over_time else loss

    @functools.cached_property
    def _config_of_rows(self) -> AlgorithmConfig:
        """A config copy that makes RLlib split a flat feed-forward batch into rows of T + 1."""
        num_steps = self.config.get_rollout_fragment_length() + 1
        return self.config.copy(copy_frozen=False).env_runners(rollout_fragment_length=num_steps)


class IntrinsicIMPALALearner(IntrinsicVTraceLearner):
    """IMPALA with an intrinsic reward."""


class KeepsKLCoefficient(Learner):
    """Saves the adaptive KL coefficient in checkpoints; RLlib does not."""

    curr_kl_coeffs_per_module: dict[str, torch.Tensor]

    def get_state(self, components: Any = None, **kwargs: Any) -> dict[str, Any]:
        """As RLlib's; the complete state also has the KL coefficient."""
        state = super().get_state(components, **kwargs)
        if components is None:
            state[_KL_COEFFICIENT] = float(self.curr_kl_coeffs_per_module[DEFAULT_MODULE_ID])
        return state

    def set_state(self, state: dict[str, Any]) -> None:
        """As RLlib's; also restores the KL coefficient if the state has it."""
        super().set_state(state)
        if _KL_COEFFICIENT in state:
            self.curr_kl_coeffs_per_module[DEFAULT_MODULE_ID].data.fill_(state[_KL_COEFFICIENT])


class IntrinsicAPPOLearner(IntrinsicVTraceLearner, KeepsKLCoefficient, APPOTorchLearner):
    """APPO with an intrinsic reward."""

    @property
    def learns_once(self) -> bool:
        """False: APPO's circular buffer hands out each batch several times."""
        return False

    def _update_module_kl_coeff(self, module_id: str, config: AlgorithmConfig) -> None:
        if module_id != INTRINSIC_MODULE_ID:  # it has no policy, hence no KL
            super()._update_module_kl_coeff(module_id=module_id, config=config)


class IntrinsicPPOLearner(IntrinsicLearner, KeepsKLCoefficient, PPOTorchLearner):
    """PPO with an intrinsic reward, added to the reward before advantages are computed."""

    def build(self) -> None:
        """Builds as usual, then appends `AddAdvantages` to the connectors where RLlib appends GAE.

        Raises:
            ValueError: If a minibatch is smaller than a row of a recurrent policy.
        """
        super().build()
        policy, steps = self.module[DEFAULT_MODULE_ID].unwrapped(), self.config.minibatch_size
        if policy.is_stateful() and steps is not None and steps < max_seq_len(policy):
            raise ValueError(
                f"minibatch_size={steps} is less than one row of the recurrent policy, expected at "
                f"least its max_seq_len={max_seq_len(policy)}"
            )
        self.append_to_pipeline(AddAdvantages(gamma=self.config.gamma, lambda_=self.config.lambda_))

    def update(self, *args: Any, minibatch_size: int | None = None, **kwargs: Any) -> Any:
        """As RLlib's, but a minibatch of exactly one row has that row.

        RLlib computes its number of rows. In floating point, 49 * (51 / (49 * 51)) is below 1.
        """
        policy = self.module[DEFAULT_MODULE_ID].unwrapped()
        if policy.is_stateful() and minibatch_size == max_seq_len(policy):
            minibatch_size += 1
        return super().update(*args, minibatch_size=minibatch_size, **kwargs)

    def before_gradient_based_update(self, *, timesteps: dict[str, Any]) -> None:
        """As RLlib's; marks the bonus as new, since the connectors add it next."""
        super().before_gradient_based_update(timesteps=timesteps)
        self._bonus_is_new = self._settings.has_bonus
