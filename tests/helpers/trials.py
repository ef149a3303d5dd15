"""Trials and results for tests that run none."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from rllib_ride.experiments.trial import Trial

TRIAL = Trial(
    experiment="x",
    name="ride_Empty-5x5_seed7",
    env="MiniGrid-Empty-5x5-v0",
    env_options={},
    method="ride",
    preset="tuned",
    seed=7,
    frames=2000,
    schedule_frames=2000,
    config={},
    checkpoint_every_s=60.0,
)


def trial(**changes: Any) -> Trial:
    """`TRIAL` with changes."""
    return replace(TRIAL, **changes)


def result(frames: int, wall_s: float, mean: float = 0.5, **more: Any) -> dict[str, Any]:
    """What RLlib reports, in part: ten frames an episode."""
    return {
        "num_env_steps_sampled_lifetime": frames,
        "time_total_s": wall_s,
        "frames": frames,
        "return_mean": mean,
        "env_runners": {
            "num_episodes_lifetime": frames // 10,
            "episode_return_mean": mean,
            "episode_return_squared_mean": mean**2,
            "episode_len_mean": 10.0,
        },
        "learners": {
            "default_policy": {
                "total_loss": 3.5,
                "mean_pi_loss": -0.5,
                "mean_vf_loss": 2.0,
                "entropy": 1.5,
                "policy_learning_rate": 1e-4,
                "gradients_policy_global_norm": 7.0,
                "num_module_steps_trained": 640,
                "num_trainable_parameters": float("nan"),
            },
            "intrinsic": {
                "intrinsic_reward_mean": 0.125,
                "inverse_loss": 1.75,
                "embedding_learning_rate": 2e-4,
                "gradients_embedding_global_norm": 9.0,
                "weights_seq_no": 3.0,
                "module_train_batch_size_mean": 33.0,
            },
        },
        **more,
    }
