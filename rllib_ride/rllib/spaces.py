"""Checks an environment's spaces and chooses the policy for them."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
from ray.rllib.algorithms.algorithm_config import AlgorithmConfig
from ray.rllib.core.rl_module.rl_module import RLModuleSpec

from rllib_ride.intrinsic.spaces import (
    check_action_space,
    check_observation_space,
    image_shape,
    is_bytes,
    is_image,
)
from rllib_ride.rllib.policy import IMAGE, RecurrentPolicy
from rllib_ride.rllib.ray_internals import custom_connectors, has_model_config, policy_spec
from rllib_ride.rllib.settings import IntrinsicSettings
from rllib_ride.rllib.visits import observation_entry

_TO_VECTORS = (
    "turn them into vectors by config.env_runners(env_to_module_connector=lambda env, spaces, "
    "device: FlattenObservations())"
)
_TO_FLOATS = (
    "make floats from 0 to 1 of them in the environment, by gymnasium.wrappers.DtypeObservation "
    "and RescaleObservation"
)


def check_spaces(
    config: AlgorithmConfig,
    observation_space: gym.Space,
    action_space: gym.Space,
    settings: IntrinsicSettings,
) -> None:
    """Refuses unsupported spaces now instead of when the first Learner is built.

    With custom connectors, which may change the spaces, only the actions are checked for being
    arrays: they are stored as the policy chose them.

    Raises:
        ValueError: The message names environment and space, and says what is supported.
    """
    try:
        _check_actions(action_space)
        if not custom_connectors(config):
            _check_counted_from_0(action_space)
            if settings.has_bonus:
                entry = observation_entry(observation_space, settings.observation_key)
                space: Any = observation_space
                check_observation_space(space if entry is None else space[entry])
                check_action_space(action_space)
    except ValueError as error:
        raise ValueError(f"environment {config.env}: {error}") from None


def policy_for(
    config: AlgorithmConfig, observation_space: gym.Space, action_space: gym.Space
) -> RLModuleSpec:
    """The policy's spec: the user's module, else the paper's if it fits the spaces, else RLlib's.

    Raises:
        ValueError: The module does not support these spaces.
    """
    spec = policy_spec(config)
    connectors = bool(custom_connectors(config))
    if spec is None:
        is_given = has_model_config(config) or connectors
        fits = _suits_recurrent(observation_space, action_space)
        spec = RLModuleSpec(module_class=RecurrentPolicy if fits and not is_given else None)
    if connectors:
        return spec
    try:
        if spec.module_class is None and spec.catalog_class is None:
            _check_default_module(observation_space, action_space)
        elif spec.module_class is not None and issubclass(spec.module_class, RecurrentPolicy):
            _check_recurrent(spec.module_class.__name__, observation_space, action_space)
    except ValueError as error:
        raise ValueError(f"environment {config.env}: {error}") from None
    return spec


def has_bytes(space: gym.Space) -> bool:
    """Whether observations, or any entry of a Dict or Tuple, are bytes."""
    if isinstance(space, gym.spaces.Dict):
        return any(map(has_bytes, space.values()))
    if isinstance(space, gym.spaces.Tuple):
        return any(map(has_bytes, space))
    return is_bytes(space)


def _check_actions(space: gym.Space) -> None:
    """Refuses actions that are not one array each, or a Box without an axis."""
    if space.shape is None:
        raise ValueError(f"action space {space} is not supported, expected one array per action")
    if isinstance(space, gym.spaces.Box) and not space.shape:
        raise ValueError(
            f"action space {space} has no axis, which RLlib's distributions need; "
            "expected shape (1,)"
        )


def _check_counted_from_0(space: gym.Space) -> None:
    """Refuses discrete actions not counted from 0, as RLlib's distributions are."""
    starts = getattr(space, "start", 0)  # an array if MultiDiscrete
    if np.any(starts != 0):
        raise ValueError(f"action space {space} is not supported, expected one that counts from 0")


def _check_default_module(observation_space: gym.Space, action_space: gym.Space) -> None:
    """Refuses spaces that RLlib's default module does not support."""
    floats = (np.float32, np.float64)
    if not (
        isinstance(observation_space, gym.spaces.Box)
        and len(observation_space.shape) in (1, 3)
        and observation_space.dtype in floats
    ):
        hint = _TO_FLOATS if is_image(observation_space) else _TO_VECTORS
        raise ValueError(
            "RLlib's default module reads Box observations of float32 or float64, shape (n,) or "
            f"(H, W, C), not {observation_space}: name an RLModule of your own, or {hint}"
        )
    if isinstance(action_space, gym.spaces.Discrete | gym.spaces.MultiDiscrete):
        return
    if not (
        isinstance(action_space, gym.spaces.Box)
        and len(action_space.shape) == 1
        and np.issubdtype(action_space.dtype, np.floating)
    ):
        raise ValueError(
            "RLlib's default module acts in a Discrete, a MultiDiscrete or a Box of floats, shape "
            f"(n,), not {action_space}: name an RLModule of your own, or change them in the "
            "environment, by gymnasium.wrappers.TransformAction"
        )


def _check_recurrent(name: str, observation_space: gym.Space, action_space: gym.Space) -> None:
    """Refuses spaces that the paper's network, used by every preset, does not support."""
    if not _suits_recurrent(observation_space, action_space):
        raise ValueError(
            f"{name}, the network of the presets, needs images, shape (H, W, C), and Discrete "
            f"actions, not {observation_space} and {action_space}"
        )


def _suits_recurrent(observation_space: gym.Space, action_space: gym.Space) -> bool:
    """Whether the paper's network supports these spaces."""
    image: Any = observation_space
    if isinstance(observation_space, gym.spaces.Dict):
        image = observation_space.get(IMAGE)
    try:
        image_shape(image)
    except ValueError:
        return False
    return isinstance(action_space, gym.spaces.Discrete)
