"""The paper's two games, end to end: pixels, the 4-convolution networks, both EnvRunners."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import rllib_ride
from rllib_ride.envs.registration import MARIO_ID, VIZDOOM_IDS
from rllib_ride.rllib.env_runner import BatchedEnvRunner
from rllib_ride.rllib.presets import make_config
from rllib_ride.rllib.settings import ENV_FRAMES, INTRINSIC_MODULE_ID, IntrinsicSettings

GAMES = {VIZDOOM_IDS["sparse"]: "vizdoom", MARIO_ID: "gym_super_mario_bros"}
FRAMES = 3_200


@pytest.mark.slow
@pytest.mark.parametrize("method", ["ride", "icm", "none"])
@pytest.mark.parametrize("env", GAMES)
def test_the_paper_s_methods_train_on_the_games(ray_session: None, env: str, method: str) -> None:
    pytest.importorskip(GAMES[env])
    made = make_config(preset="paper", method=method, env=env, frames=FRAMES, seed=1)
    made.env_runners(num_envs_per_env_runner=8)
    made.training(train_batch_size_per_learner=800)
    assert IntrinsicSettings.of(made).counts == "full"  # the key of a coarse frame
    algo = made.build_algo()
    try:
        frames = 0
        while frames < FRAMES:
            result = algo.train()
            frames = result["num_env_steps_sampled_lifetime"]
        metrics = result["learners"]
        assert np.isfinite(metrics["default_policy"]["total_loss"])
        assert (
            frames * 2 < result["env_runners"][ENV_FRAMES] <= frames * 4
        )  # repeated up to 4 times
        if method != "none":
            assert metrics[INTRINSIC_MODULE_ID]["intrinsic_reward_mean"] > 0
            assert metrics[INTRINSIC_MODULE_ID]["inverse_loss"] > 0
    finally:
        algo.stop()


@pytest.mark.slow
@pytest.mark.parametrize("env", GAMES)
def test_rllibs_own_runner_plays_them_too(ray_session: None, env: str) -> None:
    pytest.importorskip(GAMES[env])
    made = make_config(preset="paper", method="none", env=env, frames=FRAMES, seed=1)
    made.env_runners(num_envs_per_env_runner=2, env_runner_cls=None, rollout_fragment_length=10)
    made.training(train_batch_size_per_learner=20)
    steps: list[Any] = []
    made.learner_config_dict.clear()
    made.learners(learner_class=None, learner_connector=None)
    made.callbacks(on_episode_step=lambda **kwargs: steps.append(1))
    with pytest.warns(UserWarning, match="on_episode_step"):
        rllib_ride.add_intrinsic_reward(made)
    assert made.env_runner_cls is not BatchedEnvRunner
    made.reporting(min_time_s_per_iteration=0, min_sample_timesteps_per_iteration=60)
    algo = made.build_algo()
    try:
        metrics = algo.train()["learners"][INTRINSIC_MODULE_ID]
        assert metrics["intrinsic_reward_mean"] > 0 and len(steps) >= 60
    finally:
        algo.stop()
