"""Checks overrides of RLlib's settings: their names, types and ranges."""

from __future__ import annotations

import inspect
import math
from collections.abc import Mapping
from typing import Any, Literal, Union, get_args

from ray.rllib.algorithms.algorithm_config import AlgorithmConfig
from ray.rllib.utils.from_config import NotProvided

from rllib_ride.annotations import misfit
from rllib_ride.experiments.errors import ConfigError
from rllib_ride.experiments.limits import MOST_PROCESSES
from rllib_ride.wording import shown, unknown

# The file has its own keys for these; as overrides they would contradict the trial's name.
_OWN_KEYS = {"env": "env", "env_config": "env", "seed": "seed"}


def checked_overrides(overrides: Mapping[str, Any], config: AlgorithmConfig) -> dict[str, Any]:
    """The overrides in the types that `config` takes; `2e3`, say, becomes an int where needed.

    Raises:
        ConfigError: RLlib has no such setting, or the setting takes no such value.
    """
    known, parameters = setting_names(config), _parameters(config)
    checked = {}
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
        parameter = parameters.get(key, inspect.Parameter("_", inspect.Parameter.KEYWORD_ONLY))
        parameter = parameter.replace(default=config.get(key))
        if isinstance(value, float) and value.is_integer() and misfit(value, parameter):
            value = int(value)
        right = misfit(value, parameter) or _right_size(key, value)
        if right:
            raise ConfigError(f"key 'config.{key}' must be {right}, not {shown(value)}")
        checked[key] = value
    return checked


def setting_names(config: AlgorithmConfig) -> set[str]:
    """The settings of `update_from_dict`: public attributes, and setters of private ones."""
    names = {*config.keys(), *vars(config)}
    properties = {name: getattr(type(config), name[1:], None) for name in names if name[0] == "_"}
    settable = {name[1:] for name, prop in properties.items() if getattr(prop, "fset", None)}
    return settable | {name for name in names if name[0] != "_"}


def _parameters(config: AlgorithmConfig) -> dict[str, inspect.Parameter]:
    """Parameters of RLlib's config methods, such as `training()`, with corrected annotations."""
    methods = [
        method
        for cls in reversed(type(config).__mro__)  # the algorithm's own last, so that it wins
        for method in vars(cls).values()
        if inspect.isfunction(method)
    ]
    return {
        name: parameter.replace(annotation=_as_meant(name, parameter.annotation))
        for method in methods
        for name, parameter in inspect.signature(method).parameters.items()
        if parameter.default is NotProvided
    }


def _as_meant(name: str, annotation: Any) -> Any:
    """RLlib's annotation, corrected to what the setting really takes."""
    if name in ("callbacks_class", "sample_collector"):
        return object  # also takes a class's import path
    parts = get_args(annotation)
    if str in parts and int in parts:
        annotation = Union[*(Literal["auto"] if part is str else part for part in parts)]
    if name == "entropy_coeff":
        annotation |= list  # PPO says a number, but takes a schedule too
    if name.startswith(("num_cpus_", "num_gpus_")):
        annotation |= float  # some say int, but Ray allocates fractions too
    return annotation


# Minima. RLlib accepts lower values, then fails in the trial or trains on nonsense.
_LEAST = {
    "broadcast_interval": 1,
    "entropy_coeff": 0,
    "grad_clip": 0,
    "lr": 0,
    "metrics_num_episodes_for_smoothing": 1,
    "minibatch_size": 1,
    "num_env_runners": 0,
    "num_envs_per_env_runner": 1,
    "num_epochs": 1,
    "num_learners": 0,
    "rollout_fragment_length": 1,
    "train_batch_size_per_learner": 1,
}

# Counts of processes: each process has a resource bundle in the list that Ray is asked for.
_PROCESSES = {
    "evaluation_num_env_runners",
    "num_aggregator_actors_per_learner",
    "num_env_runners",
    "num_learners",
    "num_offline_eval_runners",
}


def _right_size(key: str, value: Any) -> str | None:
    """What a number must be, if it is out of range or NaN; None if it is fine."""
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
