"""The metrics that people look at, and when a trial counts as solved."""

from __future__ import annotations

import math

import pytest
from ray.rllib.algorithms.ppo.ppo import (
    LEARNER_RESULTS_KL_KEY,
    LEARNER_RESULTS_VF_LOSS_UNCLIPPED_KEY,
)
from ray.rllib.core.learner.learner import ENTROPY_KEY, POLICY_LOSS_KEY, VF_LOSS_KEY

from helpers.trials import result, trial
from rllib_ride.experiments.progress import Progress
from rllib_ride.experiments.scalars import scalars


def test_names_a_person_can_read() -> None:
    assert scalars(result(1200, 3.0)) == {
        "frames": 1200,
        "wall_s": 3.0,
        "episodes": 120,
        "return_mean": 0.5,
        "return_std": 0.0,
        "length_mean": 10.0,
        "intrinsic_reward_mean": 0.125,
        "policy/total_loss": 3.5,
        "policy/policy_loss": -0.5,
        "policy/value_loss": 2.0,
        "policy/entropy": 1.5,
        "learning_rate/policy": 1e-4,
        "learning_rate/embedding": 2e-4,
        "gradient_norm/policy": 7.0,
        "gradient_norm/embedding": 9.0,
        "intrinsic/inverse_loss": 1.75,
    }


def test_ppos_losses_have_the_same_names() -> None:
    logged = {
        POLICY_LOSS_KEY: -0.25,
        VF_LOSS_KEY: 0.75,
        LEARNER_RESULTS_VF_LOSS_UNCLIPPED_KEY: 0.5,
        ENTROPY_KEY: 1.5,
        LEARNER_RESULTS_KL_KEY: 0.01,
    }

    told = scalars(result(1200, 3.0, learners={"default_policy": logged}))

    assert {name: value for name, value in told.items() if "policy" in name} == {
        "policy/policy_loss": -0.25,
        "policy/value_loss": 0.75,
        "policy/entropy": 1.5,
        "policy/kl_loss": 0.01,
    }


def test_impalas_value_loss_is_the_mean_and_not_the_sum() -> None:
    logged = {"mean_vf_loss": 2.0, "vf_loss": 6400.0, "mean_pi_loss": -0.5, "pi_loss": -1600.0}

    told = scalars(result(1200, 3.0, learners={"default_policy": logged}))

    assert (told["policy/value_loss"], told["policy/policy_loss"]) == (2.0, -0.5)


def test_what_there_is_not_yet_is_left_out() -> None:
    assert scalars(result(1200, 3.0, env_runners={}, learners={})) == {
        "frames": 1200,
        "wall_s": 3.0,
        "episodes": 0,
    }


@pytest.mark.parametrize(
    ("frames", "mean", "threshold", "solved"),
    [
        (1000, 0.6, 0.6, True),
        (990, 0.9, 0.6, False),  # 99 episodes
        (5000, 0.59, 0.6, False),
        (5000, math.nan, 0.6, False),
        (5000, 0.9, None, False),
        (5000, -0.1, -0.2, True),
    ],
)
def test_solved_is_a_return_over_a_hundred_episodes(
    frames: int, mean: float, threshold: float | None, solved: bool
) -> None:
    progress = Progress.of(result(frames, 1.0, mean))
    assert progress.solves(trial(stop_at_return=threshold)) is solved
