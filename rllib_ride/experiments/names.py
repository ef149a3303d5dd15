"""Lists and checks the names of methods, presets and environments."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

from rllib_ride.envs.catalog import PAPER_TASKS, PIXEL_TASKS
from rllib_ride.experiments.errors import ConfigError
from rllib_ride.experiments.schema import ExperimentSpec
from rllib_ride.wording import one_line, shown, unknown


def methods() -> list[str]:
    """Registered methods, including `none`: the learner without an intrinsic reward."""
    import rllib_ride

    return rllib_ride.methods()


def presets() -> list[str]:
    """Names of the hyperparameter sets a trial may start from."""
    from rllib_ride.rllib.presets import presets

    return presets()


def envs() -> list[str]:
    """Ids of all environments registered with Gymnasium, including this project's."""
    import gymnasium

    import rllib_ride  # noqa: F401 (registers)

    return sorted(gymnasium.registry)


def experiment_files() -> list[Path]:
    """The YAML files of `./tune_configs/`, or else those of the clone that holds this package.

    Raises:
        ConfigError: There are none in either place.
    """
    import rllib_ride

    clone = Path(rllib_ride.__file__).parents[1] / "tune_configs"
    for folder in (Path("tune_configs"), clone):
        if files := sorted(folder.glob("*.yaml")):
            return files
    raise ConfigError(
        f"no experiments: neither tune_configs/ here nor {clone} has a YAML. They are in a clone "
        "and not in the package: start rllib-ride there, or install the clone with pip install -e"
    )


def env_rows() -> list[dict[str, Any]]:
    """One row per environment, the paper's first, with its figures and its step limit."""
    rows: dict[str, dict[str, Any]] = {}
    for task in (*PAPER_TASKS, *PIXEL_TASKS):
        options = ", ".join(f"{key}: {value}" for key, value in task.options.items())
        figures = f"{', '.join(task.paper)} (with {options})" if options else ", ".join(task.paper)
        row = rows.setdefault(task.id, _env_row(task.id, task.max_steps, task.extra))
        row["paper"] = "; ".join(filter(None, (row["paper"], figures)))
    for env in envs():
        rows.setdefault(env, _env_row(env))
    return list(rows.values())


def _env_row(env: str, max_steps: int | None = None, extra: str | None = None) -> dict[str, Any]:
    needs = f"rllib-ride[{extra}]" if extra else ""
    return {"env": env, "paper": "", "max_steps": max_steps, "needs": needs}


def check_names(spec: ExperimentSpec) -> None:
    """Refuses an experiment with a method, environment or preset that does not exist.

    Raises:
        ConfigError: Names the nearest match and those there are.
    """
    for method in spec.method:
        check_method(method)
    for env in spec.env:
        check_env(env.id)
    if spec.preset not in presets():
        raise ConfigError(unknown("preset", spec.preset, presets()))


def check_method(method: str) -> None:
    """Refuses a method that is not registered, even after importing the module before its colon.

    Raises:
        ConfigError: Names the nearest match and those there are.
    """
    from rllib_ride.intrinsic import get_method

    try:
        get_method(method)
    except ValueError as error:
        raise ConfigError(one_line(error)) from None
    except Exception as error:  # importing the module may raise anything
        raise ConfigError(f"method {shown(method)}: {_told(error)}") from error


def check_env(env_id: str) -> None:
    """Refuses an environment that Gymnasium does not know.

    Args:
        env_id: An id, or `module:id` if importing the module registers it.

    Raises:
        ConfigError: Names the nearest id.
    """
    module, _, name = env_id.rpartition(":")
    try:
        if module:
            importlib.import_module(module)
    except Exception as error:  # no such module, or importing it raises anything
        raise ConfigError(f"environment {shown(env_id)}: {_told(error)}") from error
    if name not in envs():
        tasks = ", ".join(dict.fromkeys(task.id for task in (*PAPER_TASKS, *PIXEL_TASKS)))
        listing = f"The paper's: {tasks}; all: rllib-ride list envs"
        raise ConfigError(unknown("environment", name, envs(), listing))


def _told(error: Exception) -> str:
    known = isinstance(error, ImportError | TypeError | ValueError)  # about the module's name
    return one_line(str(error) if known else f"{type(error).__name__}: {error}")
