"""Arguments that several verbs take, and what they mean."""

from __future__ import annotations

import argparse
import math
from typing import TYPE_CHECKING, Any

import yaml

from rllib_ride.experiments import yaml_file

if TYPE_CHECKING:
    from rllib_ride.experiments.plan import PlannedTrial


def add_experiment(verb: argparse.ArgumentParser) -> None:
    """The experiment's file, and the options that narrow or override it."""
    verb.add_argument("config", metavar="CONFIG", help="a YAML such as those in tune_configs/")
    verb.add_argument("--method", action="append", default=[], help="only this one (repeatable)")
    verb.add_argument("--env", action="append", default=[], help="only this one (repeatable)")
    verb.add_argument(
        "--seed", action="append", default=[], type=int, help="only this one (repeatable)"
    )
    verb.add_argument("--frames", type=count, metavar="N", help="stop after N transitions")
    verb.add_argument(
        "--stop-at-return",
        type=finite,
        metavar="RETURN",
        help="also stop at this mean return over 100 episodes",
    )
    verb.add_argument(
        "--set",
        action="append",
        default=[],
        type=setting,
        metavar="KEY=VALUE",
        help="override a config key, such as lr=1e-4 or intrinsic.coef=0.5 (repeatable)",
    )


def count(text: str) -> int:
    """A positive whole number; `1e6` is one."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 1 <= value < float("inf") or value != int(value):
        raise argparse.ArgumentTypeError(f"must be a positive whole number, not {text!r}")
    return int(value)


def number(text: str) -> float:
    """A positive number."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 < value < math.inf:
        raise argparse.ArgumentTypeError(f"must be a positive number, not {text!r}")
    return value


def finite(text: str) -> float:
    """A number, of any sign."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise argparse.ArgumentTypeError(f"must be a number, not {text!r}")
    return value


def seed(text: str) -> int:
    """A whole number of at least 0."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"must be a whole number of at least 0, not {text!r}")
    return int(text)


def setting(text: str) -> tuple[str, Any]:
    """`KEY=VALUE`, the value read as YAML."""
    key, equals, value = text.partition("=")
    if not equals or not key:
        raise argparse.ArgumentTypeError(f"must be KEY=VALUE, not {text!r}")
    try:
        return key, yaml_file.parse(value)
    except yaml.YAMLError:
        raise argparse.ArgumentTypeError(f"{key}: {value!r} is not readable as YAML") from None


def planned_trials(args: argparse.Namespace) -> list[PlannedTrial]:
    """The trials that the arguments of `add_experiment` ask for, each proved valid."""
    from rllib_ride.experiments.schema import load_spec

    load_spec(args.config)  # a mistyped key is told before Ray's seconds of imports
    from rllib_ride.experiments.plan import plan
    from rllib_ride.experiments.quiet import quiet_ray

    quiet_ray()
    return plan(
        args.config,
        methods=args.method,
        envs=args.env,
        seeds=args.seed,
        frames=args.frames,
        stop_at_return=args.stop_at_return,
        overrides=dict(args.set),
    )
