"""Trials and results for tests that do not train, and Tune's calls of callbacks on them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
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


def result(
    frames: int, wall_s: float, mean: float = 0.5, std: float = 0.0, **more: Any
) -> dict[str, Any]:
    """Part of the result that RLlib reports, with ten frames per episode."""
    return {
        "num_env_steps_sampled_lifetime": frames,
        "time_total_s": wall_s,
        "frames": frames,
        "return_mean": mean,
        "env_runners": {
            "num_episodes_lifetime": frames // 10,
            "episode_return_mean": mean,
            "episode_return_squared_mean": mean**2 + std**2,
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


class Tune:
    """Calls callbacks as Tune does for one trial, `TRIAL`."""

    def __init__(self, folder: Path, *callbacks: Any) -> None:
        self.trial: Any = SimpleNamespace(
            path=str(folder),
            trial_id="t",
            config={"trial": TRIAL.to_dict()},
            latest_checkpoint_result=None,
            checkpoint=None,
        )
        self.callbacks = callbacks

    def call(self, name: str, **more: Any) -> None:
        for callback in self.callbacks:
            getattr(callback, name)(iteration=0, trials=[self.trial], trial=self.trial, **more)

    def start(self, checkpoint: dict[str, Any] | None = None) -> None:
        self.trial.latest_checkpoint_result = checkpoint and SimpleNamespace(metrics=checkpoint)
        self.call("on_trial_start")

    def report(self, frames: int, wall_s: float | None = None, **more: Any) -> None:
        """Reports a result, see `result` for `more`; with `should_checkpoint`, the trial saves."""
        wall_s = frames / 100 if wall_s is None else wall_s
        self.call("on_trial_result", result=result(frames, wall_s, **more))
        if more.get("should_checkpoint"):
            self.call("on_checkpoint", checkpoint=None)

    def end(self) -> None:
        for callback in self.callbacks:
            callback.on_experiment_end([self.trial])
