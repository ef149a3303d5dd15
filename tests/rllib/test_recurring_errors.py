"""Remote EnvRunners: a recurring error ends training, a kill does not."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from ray.rllib.algorithms.algorithm import Algorithm
from ray.rllib.algorithms.impala import IMPALAConfig
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.core.rl_module.rl_module import RLModuleSpec

import rllib_ride
from helpers.misbehaving_env import ENV_ID
from helpers.policies import Indifferent

ALGORITHMS = {"impala": IMPALAConfig, "ppo": PPOConfig}
SECONDS = 120.0  # for a busy machine; usually takes two


@pytest.fixture
def build(ray_session: None) -> Iterator[Callable[..., Algorithm]]:
    algos: list[Algorithm] = []

    def build_(algorithm: str, *, num_env_runners: int = 1, **env_config: Any) -> Algorithm:
        made = ALGORITHMS[algorithm]().environment(ENV_ID, env_config=env_config)
        made.env_runners(
            num_env_runners=num_env_runners, num_envs_per_env_runner=2, rollout_fragment_length=5
        )
        made.rl_module(rl_module_spec=RLModuleSpec(module_class=Indifferent))
        made.training(train_batch_size_per_learner=10 * num_env_runners)
        if algorithm == "ppo":
            made.training(minibatch_size=10, num_epochs=1)
            made.env_runners(sample_timeout_s=1)
        made.reporting(min_time_s_per_iteration=0.1)
        algos.append(rllib_ride.add_intrinsic_reward(made, method="none").build_algo())
        return algos[-1]

    yield build_
    for algo in algos:
        algo.stop()


def frames(algo: Algorithm) -> int:
    return int(algo.train().get("num_env_steps_sampled_lifetime", 0))


def train_until(algo: Algorithm, condition: Callable[[int], bool]) -> None:
    until = time.monotonic() + SECONDS
    while not condition(frames(algo)):
        assert time.monotonic() < until


@pytest.mark.parametrize(
    ("algorithm", "num_env_runners"),
    [
        ("ppo", 1),
        pytest.param("ppo", 2, marks=pytest.mark.slow),
        pytest.param("impala", 1, marks=pytest.mark.slow),
        pytest.param("impala", 2, marks=pytest.mark.slow),
    ],
)
def test_an_error_that_comes_again_ends_the_training(
    build: Any, algorithm: str, num_env_runners: int
) -> None:
    algo = build(algorithm, num_env_runners=num_env_runners, how="reward nan", at=3, episode=0)
    told = (
        "an EnvRunner failed 3 times in a row, last: EnvironmentFault: environment .* in EnvRunner "
        "., number 0 of 2, step 3 of its episode: its reward is nan"
    )
    with pytest.raises(RuntimeError, match=told):
        train_until(algo, lambda frames: False)


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_one_that_comes_now_and_then_costs_its_fragments(build: Any, algorithm: str) -> None:
    """Fails in each environment's fifth episode (sixth fragment); then environments are rebuilt."""
    algo = build(algorithm, how="raise", at=2, episode=4)
    train_until(algo, lambda frames: frames > 200)
    assert algo.env_runner_group.num_remote_worker_restarts() >= 3


@pytest.mark.slow
@pytest.mark.parametrize(("algorithm", "num_env_runners"), [("ppo", 2), ("impala", 1)])
def test_a_runner_that_is_killed_is_started_again_any_number_of_times(
    build: Any, algorithm: str, num_env_runners: int
) -> None:
    """Even IMPALA's only remote runner: the local one stands in for it."""
    algo = build(algorithm, num_env_runners=num_env_runners)
    for _ in range(5):  # more often than consecutive errors are allowed
        (pid, *_) = algo.env_runner_group.foreach_env_runner(
            lambda runner: os.getpid(), local_env_runner=False
        )
        os.kill(pid, signal.SIGKILL)
        begun = frames(algo)
        restarts = algo.env_runner_group.num_remote_worker_restarts()
        train_until(
            algo,
            lambda frames, begun=begun, restarts=restarts: (
                frames > begun + 100
                and algo.env_runner_group.num_remote_worker_restarts() > restarts
            ),
        )
    assert algo.env_runner_group.num_remote_worker_restarts() >= 5


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_runner_that_hangs_is_waited_for(build: Any, algorithm: str) -> None:
    """PPO limits the time for sampling and loses fragments that come too late."""
    algo = build(algorithm, how="hang", at=3, episode=2, seconds=1.5)
    train_until(algo, lambda frames: frames > 100)
    assert algo.env_runner_group.num_remote_worker_restarts() == 0
