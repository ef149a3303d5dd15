"""The Learner's connector pipeline: batches episodes, then adds the bonus to the reward."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import torch
import tree
from ray.rllib.connectors.common.numpy_to_tensor import NumpyToTensor
from ray.rllib.connectors.connector_v2 import ConnectorV2
from ray.rllib.core import DEFAULT_MODULE_ID
from ray.rllib.core.columns import Columns
from ray.rllib.core.rl_module.rl_module import RLModule
from ray.rllib.env.single_agent_episode import SingleAgentEpisode
from ray.rllib.utils.metrics.metrics_logger import MetricsLogger
from ray.rllib.utils.numpy import convert_to_numpy
from ray.rllib.utils.torch_utils import convert_to_torch_tensor
from torch import Tensor

from rllib_ride.intrinsic.losses import mean_over_transitions
from rllib_ride.intrinsic.rewards import combine_rewards
from rllib_ride.rllib.episodes import fragment_length, pad_episodes
from rllib_ride.rllib.ray_internals import tell_if_padded
from rllib_ride.rllib.settings import INTRINSIC_MODULE_ID, INTRINSIC_REWARDS, IntrinsicSettings


class PadEpisodes(ConnectorV2):
    """Turns episode pieces into one zero-padded batch under the policy's module ID.

    Replaces RLlib's default connector pieces for observations, columns, time rank and states, which
    work step by step. See `pad_episodes` for the batch's format.
    """

    def __init__(self, *, time_limit_is_terminal: bool, whole_fragments: bool) -> None:
        super().__init__()
        self._time_limit_is_terminal = time_limit_is_terminal
        self._whole_fragments = whole_fragments

    def __call__(
        self,
        *,
        rl_module: RLModule,
        batch: dict[str, Any],
        episodes: list[SingleAgentEpisode],
        shared_data: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> dict[str, Any]:
        """Returns `{policy's module ID: columns}`."""
        policy = rl_module[DEFAULT_MODULE_ID].unwrapped()
        initial_state = (
            convert_to_numpy(policy.get_initial_state()) if policy.is_stateful() else None
        )
        columns = pad_episodes(
            episodes,
            initial_state,
            time_limit_is_terminal=self._time_limit_is_terminal,
            num_steps=fragment_length(episodes) if self._whole_fragments else None,
        )
        _check_observations(columns[Columns.OBS], policy.observation_space)
        tell_if_padded(shared_data, {DEFAULT_MODULE_ID: True, INTRINSIC_MODULE_ID: True})
        return {DEFAULT_MODULE_ID: columns}


def _check_observations(obs: Any, space: gym.Space | None) -> None:
    """Refuses observations `[B, T + 1, ...]` whose shape is not what the policy acted on."""
    shape = tree.map_structure(lambda x: x.shape[2:], obs)
    if isinstance(space, gym.spaces.Box) and shape != space.shape:
        raise ValueError(
            f"episodes hold observations of shape {shape}, and the policy acts on {space.shape}: "
            "connectors must write what they change into the episodes, which "
            "FrameStackingEnvToModule, for one, does not; stack frames in the environment, by "
            "gymnasium.wrappers.FrameStackObservation"
        )


class ToModuleDevice(ConnectorV2):
    """Converts PPO's batch to tensors on the networks' device, ready for bonus and values.

    `NumpyToTensor` would leave them on the CPU, because RLlib passes no device to the function that
    builds the connectors. That is right for IMPALA and APPO: their connectors may run in an
    AggregatorActor, and RLlib moves the batch later.
    """

    def __call__(
        self,
        *,
        rl_module: RLModule,
        batch: dict[str, Any],
        episodes: list[SingleAgentEpisode],
        **kwargs: Any,
    ) -> dict[str, Any]:
        """Returns the batch, `{module ID: columns}`, as tensors."""
        device = next(rl_module[DEFAULT_MODULE_ID].parameters()).device
        return {
            module_id: convert_to_torch_tensor(columns, device=device)
            for module_id, columns in batch.items()
        }


class AddIntrinsicRewards(ConnectorV2):
    """Gives the batch to the intrinsic module too; for PPO also adds the bonus to the reward.

    PPO needs the bonus here because GAE comes next. IMPALA and APPO compute the bonus with the
    loss, as they do V-trace: their connectors run in an AggregatorActor or beside the learner
    thread, where the intrinsic module's weights are stale or about to change.
    """

    def __init__(self, *, settings: IntrinsicSettings, bonus_now: bool) -> None:
        super().__init__()
        self._settings, self._bonus_now = settings, bonus_now

    def __call__(
        self,
        *,
        rl_module: RLModule,
        batch: dict[str, Any],
        episodes: list[SingleAgentEpisode],
        metrics: MetricsLogger | None = None,
        **kwargs: Any,
    ) -> dict[str, Any]:
        """Returns the batch for both modules."""
        columns = batch[DEFAULT_MODULE_ID]
        if not self._settings.has_bonus:
            add_intrinsic_rewards(columns, None, self._settings)
            return batch
        if self._bonus_now:
            intrinsic = rl_module[INTRINSIC_MODULE_ID].unwrapped()
            bonus = intrinsic.bonus(intrinsic.transitions(columns))
            add_intrinsic_rewards(columns, bonus, self._settings)
            if metrics is not None:
                log_bonus(metrics, mean_bonus(columns))
        batch[INTRINSIC_MODULE_ID] = dict(columns)
        return batch


def add_intrinsic_rewards(
    columns: dict[str, Any], r_int: Tensor | None, settings: IntrinsicSettings
) -> None:
    """Stores the bonus in a batch of tensors, in place, and adds it to the reward.

    Args:
        columns: RLlib's columns. Replaces `rewards` and sets `intrinsic_rewards`, `[B, T + 1]`.
        r_int: The bonus before its coefficient, `[B, T + 1]`; None for no bonus.
        settings: `coef`, `reward_clip` and `extrinsic_reward` are read.
    """
    r_ext = columns[Columns.REWARDS]  # [B, T + 1]
    if not settings.extrinsic_reward:
        r_ext = torch.zeros_like(r_ext)
    if r_int is None:
        r_int = torch.zeros_like(r_ext)
    columns[INTRINSIC_REWARDS] = r_int
    columns[Columns.REWARDS] = combine_rewards(
        r_ext, r_int, settings.coef, clip=settings.reward_clip
    )


def mean_bonus(columns: dict[str, Any]) -> Tensor:
    """The mean bonus of the real transitions, without padding."""
    return mean_over_transitions(columns[INTRINSIC_REWARDS], columns[Columns.LOSS_MASK])


def log_bonus(metrics: MetricsLogger, mean: Tensor) -> None:
    """Logs the mean bonus of a batch. Call once per batch: the means of its minibatches differ."""
    metrics.log_value((INTRINSIC_MODULE_ID, "intrinsic_reward_mean"), mean, window=1)


class LearnerPipeline:
    """Builds the Learner's connectors; passed as `config.learners(learner_connector=...)`.

    A class instead of a closure, so that configs can be pickled to remote Learners and compared.

    Args:
        settings: Settings of the intrinsic reward.
        for_vtrace: True for IMPALA and APPO: rows are padded to the length of a fragment instead of
            the longest piece, and the Learner adds the bonus later.
    """

    def __init__(self, settings: IntrinsicSettings, *, for_vtrace: bool) -> None:
        self._settings, self._for_vtrace = settings, for_vtrace

    def __call__(
        self, input_observation_space: gym.Space | None, input_action_space: gym.Space | None
    ) -> list[ConnectorV2]:
        """Returns the connectors in order."""
        return [
            PadEpisodes(
                time_limit_is_terminal=self._settings.time_limit_is_terminal,
                whole_fragments=self._for_vtrace,
            ),
            NumpyToTensor() if self._for_vtrace else ToModuleDevice(),
            AddIntrinsicRewards(settings=self._settings, bonus_now=not self._for_vtrace),
        ]
