"""What the intrinsic module passes to its method."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
import torch
from ray.rllib.core.columns import Columns

from helpers.small_impala import fixed_batch
from helpers.transitions import SPACES
from rllib_ride.intrinsic import E3b
from rllib_ride.rllib.module import IntrinsicModule


def test_what_connectors_make_of_a_dict_is_seen_whole() -> None:
    """`observation_key` is for counts of the environment's Dict; the networks see one array."""
    config = {"method_class": E3b, "method_config": {}, "observation_key": "lidar"}
    flat = gym.spaces.Box(-np.inf, np.inf, (9,), np.float32)
    module = IntrinsicModule(observation_space=flat, action_space=SPACES[1], model_config=config)
    assert module.method.observation_space == flat
    obs = torch.zeros(2, 9)
    assert module.seen(obs) is obs


def test_the_method_is_told_which_episodes_end() -> None:
    """E3B then keeps the covariances of the other episodes only."""
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
