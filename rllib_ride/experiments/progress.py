"""A trial's progress, read from RLlib's result."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ray.rllib.utils.metrics import (
    ENV_RUNNER_RESULTS,
    EPISODE_LEN_MEAN,
    EPISODE_RETURN_MEAN,
    LEARNER_RESULTS,
    NUM_ENV_STEPS_SAMPLED_LIFETIME,
    NUM_EPISODES_LIFETIME,
)
from ray.tune.result import TIME_TOTAL_S

from rllib_ride.experiments.trial import Trial
from rllib_ride.rllib.ray_internals import EPISODE_RETURN_SQUARED_MEAN
from rllib_ride.rllib.settings import ENV_FRAMES, INTRINSIC_MODULE_ID
from rllib_ride.run_files import WINDOW


@dataclass(frozen=True)
class Progress:
    """One point of a learning curve; NaN stands for values that do not exist yet.

    Attributes:
        frames: Transitions the agent has chosen.
        wall_s: Seconds of training, including those before an interruption.
        episodes: Episodes ended.
        return_mean: Mean extrinsic return over the last 100 episodes.
        return_std: Standard deviation of the return over these episodes.
        length_mean: Mean transitions per episode, over the last 100.
        intrinsic_reward_mean: Mean bonus per transition, before its coefficient; NaN without a
            bonus.
        env_frames: Frames of a game, including repeats of actions; NaN for other environments.
    """

    frames: int
    wall_s: float
    episodes: int
    return_mean: float
    return_std: float
    length_mean: float
    intrinsic_reward_mean: float
    env_frames: float

    @classmethod
    def of(cls, result: Mapping[str, Any]) -> Progress:
        """Reads a result of `Algorithm.train()`, or what Tune kept of it."""
        sampled = result.get(ENV_RUNNER_RESULTS, {})
        intrinsic = result.get(LEARNER_RESULTS, {}).get(INTRINSIC_MODULE_ID, {})
        mean = float(sampled.get(EPISODE_RETURN_MEAN, math.nan))
        squared = float(sampled.get(EPISODE_RETURN_SQUARED_MEAN, math.nan))
        return cls(
            frames=int(result.get(NUM_ENV_STEPS_SAMPLED_LIFETIME, 0)),
            wall_s=float(result.get(TIME_TOTAL_S, 0.0)),
            episodes=int(sampled.get(NUM_EPISODES_LIFETIME, 0)),
            return_mean=mean,
            # Rounding may make the variance of equal returns slightly negative.
            return_std=math.sqrt(max(squared - mean**2, 0.0)) if squared == squared else math.nan,
            length_mean=float(sampled.get(EPISODE_LEN_MEAN, math.nan)),
            intrinsic_reward_mean=float(intrinsic.get("intrinsic_reward_mean", math.nan)),
            env_frames=float(sampled.get(ENV_FRAMES, math.nan)),
        )

    def solves(self, trial: Trial) -> bool:
        """Whether the mean return over 100 episodes has reached the trial's `stop_at_return`."""
        return (
            trial.stop_at_return is not None
            and self.episodes >= WINDOW
            and self.return_mean >= trial.stop_at_return
        )
