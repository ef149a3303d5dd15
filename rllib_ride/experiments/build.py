"""From a trial to the RLlib config that trains it."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from rllib_ride.experiments.errors import ConfigError, unknown
from rllib_ride.experiments.limits import MOST_PROCESSES
from rllib_ride.experiments.trial import Trial
from rllib_ride.wording import shown, told

if TYPE_CHECKING:
    from ray.rllib.algorithms.algorithm import Algorithm
    from ray.rllib.algorithms.algorithm_config import AlgorithmConfig
    from ray.tune.execution.placement_groups import PlacementGroupFactory

# Set by the file's own keys; as overrides they would contradict the trial's name.
_OWN_KEYS = {"env": "env", "env_config": "env", "seed": "seed"}


def algorithm_config(trial: Trial) -> AlgorithmConfig:
    """The trial's preset with the trial's overrides, validated by RLlib.

    Raises:
        ConfigError: An unknown config key, or a value that RLlib or the intrinsic reward refuses,
            such as an environment it does not support.
    """
    overrides = dict(trial.config)
    intrinsic, values = overrides.pop("intrinsic", {}), overrides.pop("preset", {})
    _check_group("intrinsic", intrinsic, _intrinsic_settings())
    _check_group("preset", values, _preset_values())
    try:
        return _build(trial, overrides, intrinsic, values)
    except ConfigError:
        raise
    except (
        Exception
    ) as error:  # RLlib, Gymnasium and environments refuse with any type of their own
        raise ConfigError(f"trial {trial.name}: {told(error)}") from error


def checked_request(trial: Trial, config: AlgorithmConfig) -> PlacementGroupFactory:
    """What the trial, whose config it is, asks Ray for.

    Raises:
        ConfigError: It asks for what cannot be.
    """
    try:
        return resource_request(config)
    except Exception as error:  # likewise
        raise ConfigError(f"trial {trial.name}: {told(error)}") from error


def algorithm_class(config: AlgorithmConfig) -> type[Algorithm]:
    """The algorithm that a config is for."""
    assert config.algo_class is not None, "a preset names its algorithm"
    return config.algo_class


def resource_request(config: AlgorithmConfig) -> PlacementGroupFactory:
    """The bundles of cores and accelerators that the algorithm occupies while it runs."""
    return cast("PlacementGroupFactory", algorithm_class(config).default_resource_request(config))


def _build(
    trial: Trial,
    overrides: dict[str, Any],
    intrinsic: Mapping[str, Any],
    values: Mapping[str, Any],
) -> AlgorithmConfig:
    from rllib_ride.rllib.presets import make_config

    config = make_config(
        preset=trial.preset,
        method=trial.method,
        env=trial.env,
        env_options=trial.env_options,
        frames=trial.schedule_frames,
        seed=trial.seed,
        intrinsic=intrinsic,
        values=values,
    )
    _check_overrides(overrides, config)
    config.update_from_dict(overrides)
    config.validate()
    return config


def _check_overrides(overrides: Mapping[str, Any], config: AlgorithmConfig) -> None:
    known = _setting_names(config)
    for key, value in overrides.items():
        if key in _OWN_KEYS:
            raise ConfigError(f"key 'config.{key}' is set by the key {_OWN_KEYS[key]!r} instead")
        if key not in known:
            listing = (
                f"It is neither 'intrinsic' nor 'preset' nor a setting of RLlib's "
                f"{type(config).__name__}."
            )
            prefixed = {f"config.{name}" for name in {*known, "intrinsic", "preset"}}
            raise ConfigError(unknown("key", f"config.{key}", prefixed, listing))
        right = _right_type(config.get(key), value) or _right_size(key, value)
        if right:
            raise ConfigError(f"key 'config.{key}' must be {right}, not {shown(value)}")


def _setting_names(config: AlgorithmConfig) -> set[str]:
    """What `update_from_dict` can set: attributes, and properties in front of private ones."""
    names = {*config.keys(), *vars(config)}
    properties = {name: getattr(type(config), name[1:], None) for name in names if name[0] == "_"}
    settable = {name[1:] for name, prop in properties.items() if getattr(prop, "fset", None)}
    return settable | {name for name in names if name[0] != "_"}


def _right_type(default: Any, value: Any) -> str | None:
    """What `value` would have to be, if its type cannot be right beside the default's."""
    if isinstance(default, bool):
        return None if isinstance(value, bool) else "true or false"
    if isinstance(default, int | float) and isinstance(value, str | bool) and value != "auto":
        return "a number"
    if isinstance(default, dict) and not isinstance(value, dict):
        return "a mapping of keys to values"
    return None


# RLlib's own checks let these through, and fail in the trial or train on nonsense.
_LEAST = {
    "grad_clip": 0,
    "lr": 0,
    "minibatch_size": 1,
    "num_env_runners": 0,
    "num_envs_per_env_runner": 1,
    "num_epochs": 1,
    "num_learners": 0,
    "rollout_fragment_length": 1,
    "train_batch_size_per_learner": 1,
}

# Ray is asked for a bundle of resources for each of them, and a list of all bundles is made.
_PROCESSES = {
    "evaluation_num_env_runners",
    "num_aggregator_actors_per_learner",
    "num_env_runners",
    "num_learners",
    "num_offline_eval_runners",
}


def _right_size(key: str, value: Any) -> str | None:
    """What a number would have to be, if it is too small or none at all."""
    if not isinstance(value, int | float):
        return None
    if key == "gamma":
        return None if 0 <= value <= 1 else "a number from 0 to 1"
    if key in _PROCESSES and value > MOST_PROCESSES:
        return f"at most {MOST_PROCESSES}"
    least = _LEAST.get(key)
    if least is not None and not least <= value < math.inf:
        return f"at least {least}"
    return "a number" if math.isnan(value) else None


def _check_group(group: str, given: Any, known: set[str]) -> None:
    """Refuses a key below `config.<group>` that it does not have."""
    if not isinstance(given, dict):
        raise ConfigError(f"key 'config.{group}' must hold keys and values, not {shown(given)}")
    for key in given:
        if key not in known:
            prefixed = {f"config.{group}.{name}" for name in known}
            raise ConfigError(unknown("key", f"config.{group}.{key}", prefixed))


def _intrinsic_settings() -> set[str]:
    from rllib_ride.rllib.settings import IntrinsicSettings

    return {field.name for field in dataclasses.fields(IntrinsicSettings)} - {"method"}


def _preset_values() -> set[str]:
    from rllib_ride.rllib.presets import Preset

    return {field.name for field in dataclasses.fields(Preset)}
