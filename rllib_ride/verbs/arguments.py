"""Arguments that several verbs share, and their types."""

from __future__ import annotations

import argparse
import math
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from rllib_ride.experiments import yaml_file
from rllib_ride.experiments.limits import MOST_FRAMES, MOST_PROCESSES, MOST_SEED
from rllib_ride.wording import shown

if TYPE_CHECKING:
    from rllib_ride.experiments.plan import PlannedTrial


def add_experiment(verb: argparse.ArgumentParser) -> None:
    """Adds the experiment's file, and the options that filter or override it."""
    verb.add_argument(
        "config", metavar="CONFIG", type=file_path, help="a YAML such as those in tune_configs/"
    )
    verb.add_argument("--method", action="append", default=[], help="only this one (repeatable)")
    verb.add_argument("--env", action="append", default=[], help="only this one (repeatable)")
    verb.add_argument(
        "--seed", action="append", default=[], type=int, help="only this one (repeatable)"
    )
    verb.add_argument("--preset", help="these hyperparameters instead of the file's preset")
    verb.add_argument("--frames", type=count, metavar="N", help="stop after N transitions")
    verb.add_argument(
        "--stop-at-return",
        type=finite,
        metavar="RETURN",
        help="also stop at this mean return over 100 episodes",
    )
    add_set(verb, "lr=1e-4 or intrinsic.coef=0.5")


def add_set(verb: argparse.ArgumentParser, example: str) -> None:
    """Adds `--set`, with an example of what can be set."""
    verb.add_argument(
        "--set",
        action="append",
        default=[],
        type=setting,
        metavar="KEY=VALUE",
        help=f"override a config key, such as {example} (repeatable)",
    )


def add_storage(verb: argparse.ArgumentParser) -> None:
    """Adds `--storage`, the parent of the experiments' folders."""
    verb.add_argument(
        "--storage", type=file_path, default=Path("runs"), metavar="DIR", help="default: runs/"
    )


def add_play(verb: argparse.ArgumentParser) -> None:
    """Adds options for how many episodes a checkpoint's policy plays, and how."""
    verb.add_argument("--episodes", type=count, default=100, metavar="N", help="default: 100")
    verb.add_argument("--greedy", action="store_true", help="take the likeliest action")


def file_path(text: str) -> Path:
    """A valid path of a file or folder, which need not exist."""
    try:
        os.stat(text)
    except (FileNotFoundError, NotADirectoryError):
        pass
    except (OSError, ValueError) as error:  # too long, a symlink loop, a NUL byte
        why = getattr(error, "strerror", None) or error
        raise argparse.ArgumentTypeError(f"{shown(text)} is no path: {why}") from None
    return Path(text)


def count(text: str) -> int:
    """A positive whole number, also written as `1e6`."""
    value = _float(text)
    if not 1 <= value < math.inf or value != int(value):
        raise argparse.ArgumentTypeError(f"must be a positive whole number, not {shown(text)}")
    if value > MOST_FRAMES:
        raise argparse.ArgumentTypeError(f"must be at most {MOST_FRAMES:.0e}, not {shown(text)}")
    return int(value)


def few(text: str) -> int:
    """A positive whole number that is at most `MOST_PROCESSES`, because a list is made of it."""
    value = count(text)
    if value > MOST_PROCESSES:
        raise argparse.ArgumentTypeError(f"must be at most {MOST_PROCESSES}, not {shown(text)}")
    return value


def number(text: str) -> float:
    """A positive number."""
    value = _float(text)
    if not 0 < value < math.inf:
        raise argparse.ArgumentTypeError(f"must be a positive number, not {shown(text)}")
    if not 1e-6 <= value <= 1e12:
        raise argparse.ArgumentTypeError(f"must be from 1e-6 to 1e12, not {shown(text)}")
    return value


def finite(text: str) -> float:
    """A finite number of any sign."""
    value = _float(text)
    if not math.isfinite(value):
        raise argparse.ArgumentTypeError(f"must be a number, not {shown(text)}")
    return value


def _float(text: str) -> float:
    """The number; NaN if the text is none."""
    try:
        return float(text)
    except ValueError:
        return math.nan


def seed(text: str) -> int:
    """A whole number of at least 0."""
    if not (text.isdecimal() and len(text) <= len(str(MOST_SEED)) and int(text) <= MOST_SEED):
        raise argparse.ArgumentTypeError(
            f"must be a whole number of at least 0 and at most {MOST_SEED}, not {shown(text)}"
        )
    return int(text)


def setting(text: str) -> tuple[str, Any]:
    """`KEY=VALUE`, the value read as YAML."""
    key, equals, value = text.partition("=")
    if not equals or not key:
        raise argparse.ArgumentTypeError(f"must be KEY=VALUE, not {shown(text)}")
    try:
        return key, yaml_file.parse(value)
    except yaml.YAMLError as error:
        raise argparse.ArgumentTypeError(
            f"{shown(key)}: {shown(value)} is not readable as YAML: {yaml_file.reason(error)}"
        ) from None


def planned_trials(args: argparse.Namespace) -> list[PlannedTrial]:
    """The trials that the arguments of `add_experiment` select, each validated."""
    from rllib_ride.experiments.plan import proved, trials_of
    from rllib_ride.experiments.quiet import quiet_ray

    # Finds what errors it can before importing Ray, which takes seconds.
    spec, trials = trials_of(
        args.config,
        methods=args.method,
        envs=args.env,
        seeds=args.seed,
        preset=args.preset,
        frames=args.frames,
        stop_at_return=args.stop_at_return,
        overrides=dict(args.set),
    )
    quiet_ray()
    return proved(args.config, spec, trials)
