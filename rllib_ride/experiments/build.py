"""Builds the RLlib config of a trial."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from rllib_ride.experiments.errors import ConfigError
from rllib_ride.experiments.trial import Trial
from rllib_ride.wording import shown, told, unknown

if TYPE_CHECKING:
    from ray.rllib.algorithms.algorithm import Algorithm
    from ray.rllib.algorithms.algorithm_config import AlgorithmConfig
    from ray.tune.execution.placement_groups import PlacementGroupFactory


def algorithm_config(trial: Trial) -> AlgorithmConfig:
    """The trial's preset with the trial's overrides, validated by RLlib.

    Raises:
        ConfigError: A config key is unknown, or RLlib or the intrinsic reward refuses a value, such
            as an environment it does not support.
    """
    overrides = dict(trial.config)
    intrinsic, values = overrides.pop("intrinsic", {}), overrides.pop("preset", {})
    _check_group("intrinsic", intrinsic, _intrinsic_settings())
    _check_group("preset", values, _preset_values())
    try:
        return _build(trial, overrides, intrinsic, values)
    except ConfigError:
        raise
    except Exception as error:  # RLlib, Gymnasium and environments raise any type
        raise ConfigError(f"trial {trial.name}: {told(error)}") from error


def checked_request(trial: Trial, config: AlgorithmConfig) -> PlacementGroupFactory:
    """The trial's resource request to Ray, from the trial's `config`.

    Raises:
        ConfigError: The request is invalid.
    """
    try:
        return resource_request(config)
    except Exception as error:  # RLlib raises any type
        raise ConfigError(f"trial {trial.name}: {told(error)}") from error


def algorithm_class(config: AlgorithmConfig) -> type[Algorithm]:
    """The algorithm class of a config."""
    assert config.algo_class is not None, "a preset names its algorithm"
    return config.algo_class


def resource_request(config: AlgorithmConfig) -> PlacementGroupFactory:
    """The resource bundles (cores, accelerators) that the algorithm occupies while it runs."""
    return cast("PlacementGroupFactory", algorithm_class(config).default_resource_request(config))


def _build(
    trial: Trial,
    overrides: dict[str, Any],
    intrinsic: Mapping[str, Any],
    values: Mapping[str, Any],
) -> AlgorithmConfig:
    from rllib_ride.experiments.overrides import checked_overrides
    from rllib_ride.rllib.presets import make_config
    from rllib_ride.rllib.sampling import refuse_unsupported_sampling

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
    config.update_from_dict(checked_overrides(overrides, config))
    config.validate()
    refuse_unsupported_sampling(config)
    return config


def _check_group(group: str, given: Any, known: set[str]) -> None:
    """Refuses a `config.<group>` that is no mapping or has an unknown key."""
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
