"""The methods, presets and environments there are."""

from __future__ import annotations

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
        if method not in methods():
            raise ConfigError(unknown("method", method, methods()))
    for env in spec.env:
        if not _env_exists(env.id):
            listing = f"The paper's: {', '.join(paper.ENVS)}; all: rllib-ride list envs"
            raise ConfigError(unknown("environment", env.id, envs(), listing))
    if spec.preset not in presets():
        raise ConfigError(unknown("preset", spec.preset, presets()))


def _env_exists(env_id: str) -> bool:
    if env_id in envs():
        return True
    from ray.tune.registry import ENV_CREATOR, _global_registry

    return _global_registry.contains(ENV_CREATOR, env_id)
