"""Converts batches to the layout that each algorithm's loss expects.

| | recurrent policy | feed-forward policy | intrinsic networks |
|---|---|---|---|
| IMPALA, APPO | rows `[B, T + 1]` | the same, flat `[B * (T + 1)]` | rows `[B, T + 1]` |
| PPO | rows `[R, max_seq_len]` | steps `[n]` | transitions `[n, 2]` |

PPO's rows are short because its minibatches are shuffled. Once the advantages are computed, it
needs no bootstrap steps, and no padding for a feed-forward policy.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

import numpy as np
import torch
import tree
from ray.rllib.algorithms.algorithm_config import AlgorithmConfig
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.connectors.connector_v2 import ConnectorV2
from ray.rllib.core import DEFAULT_MODULE_ID
from ray.rllib.core.columns import Columns
from ray.rllib.core.rl_module.rl_module import RLModule
from ray.rllib.env.single_agent_episode import SingleAgentEpisode
from ray.rllib.evaluation.postprocessing import Postprocessing
from ray.rllib.utils.numpy import convert_to_numpy
from ray.rllib.utils.postprocessing.value_predictions import compute_value_targets
from torch import Tensor

from rllib_ride.rllib.episodes import state_before
from rllib_ride.rllib.ray_internals import tell_if_padded
from rllib_ride.rllib.settings import (
    EPISODE_IDS,
    EPISODIC_COUNTS,
    INTRINSIC_MODULE_ID,
    INTRINSIC_REWARDS,
    STATE_KEYS,
    T_STARTED,
)

_OF_A_ROW = (Columns.SEQ_LENS, Columns.STATE_IN, EPISODE_IDS, T_STARTED)
"""Columns with one entry per row, `[B, ...]`; the others have one per step, `[B, T + 1, ...]`."""


def kept_outputs(config: AlgorithmConfig, given: Collection[str]) -> list[str]:
    """The columns of a policy's outputs at each step that are sent to the Learner.

    Args:
        config: The EnvRunner's config.
        given: The columns that the policy's RLModule returns.

    Raises:
        ValueError: If a column that the algorithm's loss reads is missing.
    """
    read = [Columns.ACTION_LOGP]
    if isinstance(config, PPOConfig):
        read.append(Columns.ACTION_DIST_INPUTS)  # for the KL to the old policy in PPO's loss
    missing = [name for name in read if name not in given]
    if missing and not config.in_evaluation:
        raise ValueError(
            f"the policy's RLModule returns {Columns.ACTIONS!r} of its own without "
            f"{' and '.join(map(repr, missing))}, which the loss reads: return that too"
        )
    return [name for name in read if name in given]


def max_seq_len(policy: RLModule) -> int:
    """RLlib's `max_seq_len` of a recurrent policy; RLlib's default of 20 if it is not set."""
    model_config: Any = policy.model_config
    if isinstance(model_config, dict):
        return int(model_config.get("max_seq_len", 20))
    return int(model_config.max_seq_len)


def flatten_rows(rows: Mapping[str, Any]) -> dict[str, Any]:
    """IMPALA and APPO: flattens rows into steps, for a feed-forward policy.

    Padding stays, so that the loss can restore rows of T + 1. Call it on minibatches, not on the
    batch: RLlib cuts a batch into whole rows only if it still has rows.

    Args:
        rows: Columns `[B, T + 1, ...]`.

    Returns:
        The columns `[B * (T + 1), ...]`, without those that have one entry per row.
    """
    return _of_each_step(rows, lambda x: x.flatten(0, 1))


class AddAdvantages(ConnectorV2):
    """PPO: adds GAE advantages of the summed reward, then lays out the batch for minibatches.

    Uses RLlib's implementation of GAE. Source: Schulman et al., "High-Dimensional Continuous
    Control Using Generalized Advantage Estimation", ICLR 2016.
    """

    def __init__(self, *, gamma: float, lambda_: float) -> None:
        super().__init__()
        self._gamma, self._lambda = gamma, lambda_

    def __call__(
        self,
        *,
        rl_module: RLModule,
        batch: dict[str, Any],
        episodes: list[SingleAgentEpisode],
        shared_data: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> dict[str, Any]:
        """Returns the batch: the policy's with advantages, the intrinsic module's as `_pairs`."""
        policy = rl_module[DEFAULT_MODULE_ID].unwrapped()
        rows = batch[DEFAULT_MODULE_ID]
        lengths = rows[Columns.SEQ_LENS]  # [B], including the bootstrap step
        steps = torch.arange(rows[Columns.LOSS_MASK].shape[1], device=lengths.device)
        filled = steps < lengths[:, None]  # [B, T + 1]
        flat = _of_each_step(rows, lambda x: x[filled])  # [steps of all pieces, ...]

        with torch.no_grad():
            values = (
                policy.compute_values(rows)[filled]
                if policy.is_stateful()
                else policy.compute_values(flat)
            )
        values = values.detach()  # a view of a parameter needs a gradient even under no_grad
        targets = self._value_targets(flat, values)
        advantages = targets - values
        real = flat[Columns.LOSS_MASK]
        known = advantages[real]
        advantages = (advantages - known.mean()) / known.std(correction=0).clamp(min=1e-4)
        flat |= {Postprocessing.ADVANTAGES: advantages, Postprocessing.VALUE_TARGETS: targets}

        if INTRINSIC_MODULE_ID in batch:
            batch[INTRINSIC_MODULE_ID] = _pairs(rows)
        if policy.is_stateful():
            initial_state = convert_to_numpy(policy.get_initial_state())
            batch[DEFAULT_MODULE_ID] = _short_rows(
                flat, lengths.tolist(), episodes, initial_state, max_seq_len(policy)
            )
        else:
            batch[DEFAULT_MODULE_ID] = tree.map_structure(lambda x: x[real], flat)
        is_padded = {DEFAULT_MODULE_ID: policy.is_stateful(), INTRINSIC_MODULE_ID: False}
        tell_if_padded(shared_data, is_padded)
        return batch

    def _value_targets(self, flat: dict[str, Any], values: Tensor) -> Tensor:
        """Targets of the value function, `[steps]`."""
        targets = compute_value_targets(
            values=convert_to_numpy(values),
            rewards=convert_to_numpy(flat[Columns.REWARDS]),
            terminateds=convert_to_numpy(flat[Columns.TERMINATEDS]).astype(np.float32),
            truncateds=convert_to_numpy(flat[Columns.TRUNCATEDS]).astype(np.float32),
            gamma=self._gamma,
            lambda_=self._lambda,
        )
        return torch.as_tensor(targets, device=values.device)


def _of_each_step(rows: Mapping[str, Any], function: Callable[[Tensor], Tensor]) -> dict[str, Any]:
    """Applies a function to the columns `[B, T + 1, ...]`, and drops those of shape `[B, ...]`."""
    return {
        name: tree.map_structure(function, column)
        for name, column in rows.items()
        if name not in _OF_A_ROW
    }


def _pairs(rows: dict[str, Any]) -> dict[str, Any]:
    """Makes a row of each of the n real transitions, `[n, 2, ...]`.

    A row holds a state with its action, and the next state.
    """
    row, t = rows[Columns.LOSS_MASK].nonzero(as_tuple=True)  # [n] each

    def pair(x: Tensor) -> Tensor:
        return torch.stack((x[row, t], x[row, t + 1]), dim=1)  # [n, 2, ...]

    per_step = (Columns.OBS, Columns.ACTIONS, INTRINSIC_REWARDS, EPISODIC_COUNTS, STATE_KEYS)
    return {
        **{name: tree.map_structure(pair, rows[name]) for name in per_step},
        EPISODE_IDS: rows[EPISODE_IDS][row],  # [n]
        T_STARTED: rows[T_STARTED][row] + t,  # [n]
        Columns.LOSS_MASK: torch.tensor([True, False], device=t.device).expand(len(t), 2),
    }


def _short_rows(
    flat: dict[str, Any],
    lengths: list[int],
    episodes: list[SingleAgentEpisode],
    initial_state: dict[str, Any],
    num_steps: int,
) -> dict[str, Any]:
    """Cuts pieces into rows of at most `num_steps` steps, each with its first recurrent state.

    Drops the bootstrap steps.

    Args:
        flat: Columns `[steps of all pieces, ...]`, including each piece's bootstrap step.
        lengths: Steps of each piece, including the bootstrap step.
        episodes: The pieces, with the recurrent state before each step.
        initial_state: Recurrent state of the policy at the start of an episode.
        num_steps: Width of the rows.
    """
    starts, sizes, states, offset = [], [], [], 0
    for length, episode in zip(lengths, episodes, strict=True):
        for begin in range(0, length - 1, num_steps):
            starts.append(offset + begin)
            sizes.append(min(num_steps, length - 1 - begin))
            states.append(state_before(episode, begin, initial_state))
        offset += length

    device = flat[Columns.LOSS_MASK].device
    steps = torch.arange(num_steps, device=device)
    row_sizes = torch.tensor(sizes, device=device, dtype=torch.int32)
    mask = steps < row_sizes[:, None]  # [R, num_steps]
    index = torch.where(mask, torch.tensor(starts, device=device)[:, None] + steps, 0)

    def cut(x: Tensor) -> Tensor:
        padded = mask.view(*mask.shape, *[1] * (x.ndim - 1))
        return torch.where(padded, x[index], torch.zeros((), dtype=x.dtype, device=device))

    rows = tree.map_structure(cut, flat)
    rows[Columns.LOSS_MASK] = mask
    rows[Columns.SEQ_LENS] = row_sizes
    rows[Columns.STATE_IN] = tree.map_structure(
        lambda *x: torch.as_tensor(np.stack(x), device=device), *states
    )
    return rows
