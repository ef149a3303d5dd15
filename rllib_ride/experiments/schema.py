"""The pydantic model of a file in `tune_configs/`, with errors that a person can act on."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from rllib_ride.experiments import yaml_file
from rllib_ride.experiments.errors import ConfigError
from rllib_ride.experiments.limits import MOST_FRAMES, MOST_SEED
from rllib_ride.wording import one_line, shown, unknown

PAPER_FRAMES = "paper"
"""Value of `frames` that stands for each task's total in the paper, `paper.FRAMES`."""

LONGEST_NAME = 100
"""Most characters of an experiment's name; file systems allow 255 bytes."""


@dataclass(frozen=True)
class EnvChoice:
    """An environment's id and its options."""

    id: str
    options: dict[str, Any] = field(default_factory=dict)


def _whole(value: Any, least: int, most: int) -> int | None:
    """`value` as an int if it is a whole number (such as 30e6) in [least, most], else None."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if not least <= value <= most or value != int(value):  # NaN fails the comparison
        return None
    return int(value)


def _frames(value: Any) -> int | str:
    if isinstance(value, int | float) and MOST_FRAMES < value < math.inf:
        raise ValueError(f"must be at most {MOST_FRAMES:.0e}")
    whole = _whole(value, least=1, most=MOST_FRAMES)
    if whole is None and value != PAPER_FRAMES:
        raise ValueError(f"must be a positive whole number such as 30e6, or {PAPER_FRAMES!r}")
    return whole or PAPER_FRAMES


def _listed(value: Any, what: str) -> list[Any]:
    """A single value as a list of one; refuses an empty list."""
    entries = value if isinstance(value, list) else [value]
    if not entries:
        raise ValueError(f"must name at least one {what}")
    return entries


def _each_once(keys: Sequence[Any], what: str) -> None:
    if len(set(keys)) < len(keys):
        raise ValueError(f"names a {what} twice")


def _seeds(value: Any) -> list[int]:
    found = [_whole(entry, least=0, most=MOST_SEED) for entry in _listed(value, "seed")]
    seeds = [seed for seed in found if seed is not None]
    if len(seeds) < len(found):
        raise ValueError(
            f"must be a whole number of at least 0 and at most {MOST_SEED}, or a list of them"
        )
    _each_once(seeds, "seed")
    return seeds


def _methods(value: Any) -> list[str]:
    names = _listed(value, "method")
    if not all(isinstance(name, str) for name in names):
        raise ValueError("must be a method's name, or a list of them")
    _each_once(names, "method")
    return names


def _env(value: Any) -> EnvChoice:
    if isinstance(value, str):
        return EnvChoice(value)
    named = isinstance(value, dict) and all(isinstance(key, str) for key in value)
    if named and isinstance(value.get("id"), str):
        return EnvChoice(value["id"], {key: v for key, v in value.items() if key != "id"})
    raise ValueError("must be an environment's id, {id: ..., <option>: ...}, or a list of them")


def _envs(value: Any) -> list[EnvChoice]:
    envs = [_env(entry) for entry in _listed(value, "environment")]
    _each_once(
        [json.dumps([e.id, e.options], sort_keys=True, default=repr) for e in envs], "environment"
    )
    return envs


def _grid(value: Any) -> dict[str, list[Any]]:
    if not isinstance(value, dict):
        raise ValueError("must map a config key to the list of values to search")
    for key, values in value.items():
        if not isinstance(values, list) or not values:
            raise ValueError(f"must give {shown(key)} a list of at least one value")
    return value


_ASHA_FORM = "must be {grace_frames: ..., reduction_factor: ...}"


def _asha(value: Any) -> dict[str, Any] | None:
    if value is None:
        return None
    if not isinstance(value, dict) or set(value) - {"grace_frames", "reduction_factor"}:
        raise ValueError(_ASHA_FORM)
    grace = _whole(value.get("grace_frames"), least=1, most=MOST_FRAMES)
    factor = value.get("reduction_factor", 4)
    if grace is None:
        raise ValueError(f"{_ASHA_FORM} with whole grace_frames of at least 1")
    if isinstance(factor, bool) or not isinstance(factor, int | float) or not 1 < factor < 1e6:
        raise ValueError(f"{_ASHA_FORM} with a reduction_factor above 1")
    return {"grace_frames": grace, "reduction_factor": factor}


class ExperimentSpec(BaseModel):
    """One experiment: every combination of env, method, seed and grid point is a trial.

    Attributes:
        experiment: Name of the folder under the storage that its trials go to.
        env: Environments, each with its options.
        method: Names of intrinsic rewards; `none` is the same learner without one.
        preset: The set of hyperparameters that `config` overrides.
        seed: Seeds.
        frames: Transitions the agent chooses before a trial stops, or `paper`: each task's total in
            the paper.
        config: Overrides by RLlib's names; `intrinsic` holds those of the intrinsic reward, and
            `preset` those of the preset's own values.
        grid: Config keys (dotted for nested ones) with the lists of values to search.
        checkpoint_every_s: Seconds of training between checkpoints, which is what a kill may lose.
        stop_at_return: Mean return over 100 episodes at which a trial stops before its frames.
        asha: `grace_frames` and `reduction_factor` (default: 4) of ASHA, asynchronous successive
            halving, which stops trials with a low return early. It is for searching a grid on one
            environment, not for comparing methods, whose curves it cuts.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, arbitrary_types_allowed=True)

    experiment: Annotated[
        str,
        Field(strict=True, pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$", max_length=LONGEST_NAME),
    ]
    env: Annotated[list[EnvChoice], BeforeValidator(_envs)]
    method: Annotated[list[str], BeforeValidator(_methods)]
    preset: Annotated[str, Field(strict=True)] = "paper"
    seed: Annotated[list[int], BeforeValidator(_seeds)]
    frames: Annotated[int | str, BeforeValidator(_frames)]
    config: dict[str, Any] = {}
    grid: Annotated[dict[str, list[Any]], BeforeValidator(_grid)] = {}
    checkpoint_every_s: Annotated[float, Field(strict=True, gt=0, allow_inf_nan=False)] = 60.0
    stop_at_return: Annotated[float | None, Field(strict=True, allow_inf_nan=False)] = None
    asha: Annotated[dict[str, Any] | None, BeforeValidator(_asha)] = None

    @model_validator(mode="after")
    def _check_asha(self) -> ExperimentSpec:
        if self.asha is not None and len(self.env) > 1:
            raise ValueError("key 'asha' compares returns, so it needs one environment")
        frames = self.frames if isinstance(self.frames, int) else math.inf  # the paper's: 3e7, 1e8
        if self.asha is not None and self.asha["grace_frames"] > frames:
            raise ValueError(f"key 'asha' has grace_frames above the {self.frames} frames")
        return self


def load_spec(path: str | Path) -> ExperimentSpec:
    """The experiment that the YAML file at `path` describes.

    Raises:
        ConfigError: The file, or a key in it, is invalid.
    """
    content = yaml_file.read(path)
    try:
        return ExperimentSpec.model_validate(content)
    except ValidationError as error:
        raise ConfigError(f"{path}: {_first_message(error)}") from None


def _first_message(error: ValidationError) -> str:
    # A mistyped key is both unknown and missing; the message about the unknown key helps more.
    problems = sorted(error.errors(), key=lambda problem: problem["type"] != "extra_forbidden")
    problem = problems[0]
    if not problem["loc"]:  # about several keys together
        return str(problem.get("ctx", {}).get("error", one_line(problem["msg"])))
    key = ".".join(str(part) for part in problem["loc"])
    match problem["type"]:
        case "extra_forbidden":
            return unknown("key", key, ExperimentSpec.model_fields)
        case "missing":
            return f"key {key!r} is missing"
        case "value_error":
            right = str(problem["ctx"]["error"])
        case "string_pattern_mismatch":
            right = "must be a name of letters, digits, '_', '.' and '-' (it names a folder)"
        case "string_type":
            right = "must be text"
        case "dict_type":
            right = "must hold keys and values"
        case "string_too_long":
            right = f"must have at most {LONGEST_NAME} characters (it names a folder)"
        case _ if key == "stop_at_return":
            right = "must be a number"
        case _ if key == "checkpoint_every_s":
            right = "must be a positive number of seconds"
        case _:
            right = one_line(problem["msg"])
    return f"key {shown(key)} {right}, not {shown(problem['input'])}"
