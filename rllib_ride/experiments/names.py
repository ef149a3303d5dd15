"""The methods, presets and environments there are."""

from __future__ import annotations

import importlib

from rllib_ride.experiments import paper
from rllib_ride.experiments.errors import ConfigError, unknown
from rllib_ride.experiments.schema import ExperimentSpec


def methods() -> list[str]:
    """Registered methods; `none` among them is the learner without an intrinsic reward."""
    import rllib_ride

    return rllib_ride.methods()


def presets() -> list[str]:
    """Sets of hyperparameters a trial may start from."""
    from rllib_ride.rllib.presets import presets

    return presets()


def envs() -> list[str]:
    """Ids of all environments registered with Gymnasium, this project's among them."""
    import gymnasium

    import rllib_ride  # noqa: F401 (registers)

    return sorted(gymnasium.registry)


def check_names(spec: ExperimentSpec) -> None:
    """Refuses an experiment with a method, environment or preset that does not exist.

    Raises:
        ConfigError: with the nearest name and those there are.
    """
    for method in spec.method:
        check_method(method)
    for env in spec.env:
        check_env(env.id)
    if spec.preset not in presets():
        raise ConfigError(unknown("preset", spec.preset, presets()))


def check_method(method: str) -> None:
    """Refuses a method that is not registered, and not by the module before its colon either.

    Raises:
        ConfigError: with the nearest name and those there are.
    """
    from rllib_ride.intrinsic import get_method

    try:
        get_method(method)
    except ValueError as error:
        if ":" in method:
            raise ConfigError(str(error)) from None
        raise ConfigError(unknown("method", method, methods())) from None


def check_env(env_id: str) -> None:
    """Refuses an environment that Gymnasium does not know.

    Args:
        env_id: An id, or `module:id` where importing the module registers it.

    Raises:
        ConfigError: with the nearest id.
    """
    module, _, name = env_id.rpartition(":")
    try:
        if module:
            importlib.import_module(module)
    except (ImportError, TypeError, ValueError) as error:  # the latter for no name of a module
        raise ConfigError(f"environment {env_id!r}: {error}") from None
    if name not in envs():
        listing = f"The paper's: {', '.join(paper.ENVS)}; all: rllib-ride list envs"
        raise ConfigError(unknown("environment", name, envs(), listing))
