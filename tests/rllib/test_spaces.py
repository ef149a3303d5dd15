"""Which policy is chosen for an environment's spaces, and which spaces are refused."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.algorithms.ppo.torch.default_ppo_torch_rl_module import DefaultPPOTorchRLModule
from ray.rllib.core import DEFAULT_MODULE_ID
from ray.rllib.core.rl_module.rl_module import RLModuleSpec

import rllib_ride

FRAMES, ACTIONS = spaces.Box(0, 255, (42, 42, 4), np.uint8), spaces.Discrete(7)
VECTOR = spaces.Box(-1, 1, (3,), np.float32)


def with_spaces(observation_space: gym.Space, action_space: gym.Space) -> PPOConfig:
    return PPOConfig().environment(
        "CartPole-v1", observation_space=observation_space, action_space=action_space
    )


def policy_class(config: PPOConfig) -> type:
    cls: type = config.rl_module_spec.rl_module_specs[DEFAULT_MODULE_ID].module_class
    return cls


@pytest.mark.parametrize(
    ("observations", "actions", "message"),
    [
        (
            VECTOR,
            spaces.Box(-1, 1, ()),
            r"action space Box\(.*\) has no axis.* expected shape \(1,\)",
        ),
        (
            VECTOR,
            spaces.Tuple((ACTIONS, ACTIONS)),
            "action space Tuple.* expected one array per action",
        ),
        (VECTOR, spaces.Dict(a=ACTIONS), "action space Dict.* expected one array per action"),
        (
            VECTOR,
            spaces.Discrete(3, start=1),
            "Discrete.3, start=1.* expected one that counts from 0",
        ),
        (VECTOR, spaces.Box(0, 5, (2,), np.int64), "acts in .* Box of floats, shape .n,., not Box"),
        (VECTOR, spaces.Box(-1, 1, (2, 3)), "acts in .* Box of floats, shape .n,., not Box"),
        (VECTOR, spaces.MultiBinary(3), "acts in a Discrete, a MultiDiscrete or .* MultiBinary"),
        (spaces.Box(-1, 1, (3, 4)), ACTIONS, "reads Box .*FlattenObservations"),
        (spaces.Box(0, 9, (3,), np.int64), ACTIONS, "reads Box .*FlattenObservations"),
        (spaces.Box(0, 255, (3,), np.uint8), ACTIONS, "reads Box .*FlattenObservations"),
        (spaces.Box(0, 1, (4,), bool), ACTIONS, "reads Box .*FlattenObservations"),
        (spaces.Box(0, 1, (4,), np.float16), ACTIONS, "reads Box .*FlattenObservations"),
        (FRAMES, spaces.Box(-1, 1, (2,)), "reads Box .*DtypeObservation and RescaleObservation"),
    ],
)
def test_spaces_that_the_policy_cannot_have_are_refused_without_a_bonus_too(
    observations: gym.Space, actions: gym.Space, message: str
) -> None:
    config = with_spaces(observations, actions)
    with pytest.raises(ValueError, match=f"environment CartPole-v1: .*{message}"):
        rllib_ride.add_intrinsic_reward(config, method="none")


def test_a_module_of_the_users_may_take_what_rllibs_does_not() -> None:
    for observations, actions in (
        (spaces.Box(-1, 1, (3, 4)), ACTIONS),
        (VECTOR, spaces.Box(-1, 1, (2, 3))),
    ):
        config = with_spaces(observations, actions)
        config.rl_module(rl_module_spec=RLModuleSpec(module_class=DefaultPPOTorchRLModule))
        config = rllib_ride.add_intrinsic_reward(config)
        assert policy_class(config) is DefaultPPOTorchRLModule


@pytest.mark.parametrize(
    "actions", [spaces.MultiDiscrete([2, 3]), spaces.Box(-1, 1, (2,), np.float64)]
)
def test_rllibs_module_takes_vectors_of_doubles_and_actions_of_several_numbers(
    actions: gym.Space,
) -> None:
    config = with_spaces(spaces.Box(-1, 1, (3,), np.float64), actions)
    config = rllib_ride.add_intrinsic_reward(config, method="none")
    assert policy_class(config) is DefaultPPOTorchRLModule
