"""Faulty environments, on both runners: the message names environment, fault and what is right."""

from __future__ import annotations

import re
import time
from typing import Any

import numpy as np
import pytest
from ray.rllib.algorithms.algorithm_config import AlgorithmConfig
from ray.rllib.algorithms.impala import IMPALAConfig
from ray.rllib.core.rl_module.rl_module import RLModuleSpec
from ray.rllib.env.single_agent_env_runner import SingleAgentEnvRunner

import rllib_ride
from helpers.misbehaving_env import ENV_ID, VECTOR_ID, Misbehaving
from helpers.policies import Indifferent
from rllib_ride.rllib.env_runner import BatchedEnvRunner
from rllib_ride.rllib.stock_runner import CountingEnvRunner
from rllib_ride.rllib.watched_env import EnvironmentFault

RUNNERS = [BatchedEnvRunner, CountingEnvRunner]


def config(env: str = ENV_ID, **env_config: Any) -> AlgorithmConfig:
    made = IMPALAConfig().environment(env, env_config=env_config)
    made.env_runners(num_env_runners=0, num_envs_per_env_runner=3, rollout_fragment_length=5)
    made.rl_module(rl_module_spec=RLModuleSpec(module_class=Indifferent))
    return rllib_ride.add_intrinsic_reward(made, method="none")


def message(cls: type[SingleAgentEnvRunner], made: AlgorithmConfig) -> str:
    """The message of the fault, which comes within four fragments."""
    Misbehaving.made = 0
    runner = cls(config=made, worker_index=0)
    with pytest.raises(EnvironmentFault) as error:
        for _ in range(4):
            runner.sample()
    assert "\n" not in str(error.value)
    return str(error.value)


@pytest.mark.parametrize("cls", RUNNERS)
@pytest.mark.parametrize(
    ("how", "told"),
    [
        ("reward nan", "its reward is nan, expected a finite number"),
        ("reward inf", "its reward is inf, expected a finite number"),
        ("obs nan", "its observation['observation'] contains nan, expected finite numbers"),
        (
            "obs shape",
            "its observation['view'] has shape (2, 3, 3) and uint8, "
            "expected shape (2, 4, 3) and uint8",
        ),
        (
            "obs dtype",
            "its observation['view'] has shape (2, 4, 3) and float64, "
            "expected shape (2, 4, 3) and uint8",
        ),
        (
            "obs entry",
            "its observation['observation'] is missing, expected shape (3,) and float32",
        ),
        ("raise", "it raised ValueError: the door fell off"),
    ],
)
def test_it_is_told_which_environment_did_what(
    cls: type[SingleAgentEnvRunner], how: str, told: str
) -> None:
    """The fault comes in the second episode, in the middle of a fragment."""
    assert message(cls, config(how=how, which=2)) == (
        f"environment {ENV_ID}, number 2 of 3, step 4 of its episode: {told}"
    )


@pytest.mark.parametrize("cls", RUNNERS)
@pytest.mark.parametrize(("episode", "which"), [(0, 1), (2, 0)])
def test_a_reset_is_told_from_a_step(
    cls: type[SingleAgentEnvRunner], episode: int, which: int
) -> None:
    """The first reset, and the automatic reset after an episode."""
    made = config(how="raise", at=0, episode=episode, which=which)
    assert f"number {which} of 3, at its reset: it raised ValueError" in message(cls, made)


@pytest.mark.parametrize("cls", RUNNERS)
@pytest.mark.parametrize(
    ("how", "told"),
    [
        (
            "obs shape",
            "the observations['view'] of all has shape (3, 2, 3, 3) and uint8, "
            "expected shape (3, 2, 4, 3) and uint8",
        ),
        (
            "obs dtype",
            "of all has shape (3, 2, 4, 3) and float64, expected shape (3, 2, 4, 3) and uint8",
        ),
        ("obs entry", "the observations['observation'] of all is missing, expected shape (3, 3)"),
        ("raise", "it raised ValueError: the door fell off"),
    ],
)
def test_environments_that_are_one_are_told_as_one(
    cls: type[SingleAgentEnvRunner], how: str, told: str
) -> None:
    """The user's own vector environment: 6 steps, a reset, and 4 steps of the next episode."""
    told_by_runner = message(cls, config(VECTOR_ID, how=how))
    assert f"environment {VECTOR_ID}, step 11 since the start: " in told_by_runner
    assert told in told_by_runner


@pytest.mark.parametrize("cls", RUNNERS)
def test_numbers_of_another_size_are_no_fault(
    cls: type[SingleAgentEnvRunner], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Gymnasium casts an environment's float64 to the space's float32; so does the runner."""
    observe = Misbehaving._observe

    def doubles(self: Misbehaving) -> dict[str, np.ndarray]:
        obs = observe(self)
        return {**obs, "observation": obs["observation"].astype(np.float64)}

    monkeypatch.setattr(Misbehaving, "_observe", doubles)
    for env in (ENV_ID, VECTOR_ID):
        pieces = cls(config=config(env), worker_index=0).sample()
        assert sum(map(len, pieces)) >= 12


@pytest.mark.parametrize("cls", RUNNERS)
def test_after_a_fault_its_environments_are_new(cls: type[SingleAgentEnvRunner]) -> None:
    """New environments begin their first episode, and so reach the same fault again."""
    made = config(how="raise", at=3, episode=1)
    runner = cls(config=made, worker_index=0)
    for _ in range(2):
        runner.sample()
        with pytest.raises(EnvironmentFault, match="number 0 of 3, step 3 of its episode"):
            for _ in range(3):
                runner.sample()
    assert {piece.t_started for piece in runner.sample()} == {0}


@pytest.mark.parametrize("cls", RUNNERS)
def test_a_class_is_called_by_its_name(cls: type[SingleAgentEnvRunner]) -> None:
    made = IMPALAConfig().environment(_Own)
    made.env_runners(num_env_runners=0, num_envs_per_env_runner=3, rollout_fragment_length=5)
    made.rl_module(rl_module_spec=RLModuleSpec(module_class=Indifferent))
    rllib_ride.add_intrinsic_reward(made, method="none")
    told = message(cls, made)
    assert re.match("environment _Own, number 0 of 3, step 2 of its episode: its reward", told)


class _Own(Misbehaving):
    def __init__(self, config: Any = None) -> None:
        super().__init__(how="reward nan", at=2, episode=0)


@pytest.mark.parametrize("cls", RUNNERS)
def test_one_that_hangs_is_waited_for(cls: type[SingleAgentEnvRunner]) -> None:
    runner = cls(
        config=config(how="hang", at=2, episode=0, which=None, seconds=0.3), worker_index=0
    )
    began = time.perf_counter()
    assert sum(map(len, runner.sample())) >= 12
    assert time.perf_counter() - began > 0.8  # three of them, one after the other
