"""IMPALA with small batches on a small task, and access to what tests inspect."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import torch
from ray.rllib.algorithms.impala import IMPALA, IMPALAConfig
from ray.rllib.core import COMPONENT_RL_MODULE
from ray.rllib.core.columns import Columns

from rllib_ride.rllib.presets import make_config

ENV = "MiniGrid-MultiRoom-N2-S4-v0"
FRAMES = 20_000


def config(method: str = "ride", **env_runners: Any) -> IMPALAConfig:
    """Four environments, fragments of ten steps: an update of 40 frames."""
    made = make_config(preset="paper", method=method, env=ENV, frames=FRAMES, seed=5)
    made.env_runners(num_envs_per_env_runner=4, rollout_fragment_length=10, **env_runners)
    made.training(train_batch_size_per_learner=40)
    made.reporting(min_time_s_per_iteration=0, min_sample_timesteps_per_iteration=200)
    return made


def weights(algo: IMPALA, module_id: str) -> dict[str, np.ndarray]:
    state = algo.learner_group.get_state()["learner"][COMPONENT_RL_MODULE][module_id]
    return copy.deepcopy(state)


def learner_of(algo: IMPALA) -> Any:
    return algo.learner_group._learner


def fixed_batch() -> dict[str, torch.Tensor]:
    """A batch not made by an EnvRunner: three rows of up to six transitions."""
    rng = np.random.default_rng(0)
    return {
        Columns.OBS: torch.as_tensor(rng.integers(0, 11, (3, 7, 7, 7, 3)).astype(np.uint8)),
        Columns.ACTIONS: torch.as_tensor(rng.integers(7, size=(3, 7))),
        Columns.REWARDS: torch.zeros(3, 7),
        Columns.LOSS_MASK: torch.arange(7) < torch.tensor([[6], [2], [4]]),
        "episodic_counts": torch.as_tensor(rng.integers(1, 5, (3, 7)).astype(np.float32)),
        "state_keys": torch.as_tensor(rng.integers(2**62, size=(3, 7))),
        "episode_ids": torch.tensor([5, 6, 7]),
        "t_started": torch.tensor([0, 4, 0]),
    }
