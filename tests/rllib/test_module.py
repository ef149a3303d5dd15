"""What the intrinsic module hands to its method."""

from __future__ import annotations

import torch
from ray.rllib.core.columns import Columns

from helpers.small_impala import fixed_batch
from helpers.transitions import SPACES
from rllib_ride.intrinsic import E3b
from rllib_ride.rllib.module import IntrinsicModule


def test_the_method_is_told_which_episodes_end() -> None:
    """And E3B keeps the others alone."""
    module = IntrinsicModule(
        observation_space=SPACES[0],
        action_space=SPACES[1],
        model_config={"method_class": E3b, "method_config": {}},
    )
    assert isinstance(module.method, E3b)
    batch = fixed_batch()
    unknown = module.transitions(batch)
    assert unknown.ended is None
    terminated = torch.zeros_like(batch[Columns.LOSS_MASK])
    terminated[1, int(batch[Columns.LOSS_MASK][1].sum()) - 1] = True
    transitions = module.transitions({**batch, Columns.TERMINATEDS: terminated})
    assert transitions.ended is not None and transitions.ended.tolist() == [False, True, False]
    module.bonus(transitions)
    kept = transitions.episode_ids[[0, 2]].tolist()
    assert sorted(module.method._covariances) == sorted(kept)
