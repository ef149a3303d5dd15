"""The command `rllib-ride`: reads arguments, calls the rooms, prints what they return.

Ray and torch are imported inside the verbs, so that `--help` and a mistyped file answer at once.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from rllib_ride.experiments import yaml_file
from rllib_ride.experiments.errors import ConfigError

if TYPE_CHECKING:
    from rllib_ride.experiments.plan import PlannedTrial

DONE, FAILED, BAD_INPUT, INTERRUPTED = 0, 1, 2, 130


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one verb and returns the exit code.

    0: done; 1: a run failed; 2: bad input, told in one message, nothing written; 130: interrupted.
    """
    try:
        args = _parser().parse_args(argv)
    except SystemExit as stop:  # argparse has printed help or what is wrong
        return int(stop.code or 0)
    try:
        return args.verb(args)
    except ConfigError as error:
        print(error, file=sys.stderr)
        return BAD_INPUT
    except KeyboardInterrupt:
        return INTERRUPTED


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="rllib-ride", description="Intrinsic rewards for RLlib, and the RIDE paper's runs."
    )
    verbs = parser.add_subparsers(required=True, metavar="VERB")

    check = verbs.add_parser("check", help="validate an experiment and print its trials")
    check.set_defaults(verb=_check)
    _add_experiment(check)

    listing = verbs.add_parser("list", help="print the methods, environments or experiments")
    listing.set_defaults(verb=_list)
    listing.add_argument("what", choices=["methods", "envs", "experiments"])

    for verb in (check, listing):
        verb.add_argument("--json", action="store_true", help="print one JSON document")
    return parser


def _add_experiment(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("config", metavar="CONFIG", help="a YAML such as those in tune_configs/")
    verb.add_argument("--method", action="append", default=[], help="only this one (repeatable)")
    verb.add_argument("--env", action="append", default=[], help="only this one (repeatable)")
    verb.add_argument(
        "--seed", action="append", default=[], type=int, help="only this one (repeatable)"
    )
    verb.add_argument("--frames", type=_frames, metavar="N", help="stop after N transitions")
    verb.add_argument(
        "--set",
        action="append",
        default=[],
        type=_setting,
        metavar="KEY=VALUE",
        help="override a config key, such as lr=1e-4 or intrinsic.coef=0.5 (repeatable)",
    )


def _frames(text: str) -> int:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 1 <= value < float("inf") or value != int(value):
        raise argparse.ArgumentTypeError(f"must be a positive whole number, not {text!r}")
    return int(value)


def _setting(text: str) -> tuple[str, Any]:
    key, equals, value = text.partition("=")
    if not equals or not key:
        raise argparse.ArgumentTypeError(f"must be KEY=VALUE, not {text!r}")
    try:
        return key, yaml_file.parse(value)
    except yaml.YAMLError:
        raise argparse.ArgumentTypeError(f"{key}: {value!r} is not readable as YAML") from None


def _plan(args: argparse.Namespace) -> list[PlannedTrial]:
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
        overrides=dict(args.set),
    )


def _check(args: argparse.Namespace) -> int:
    planned = _plan(args)
    rows = [
        {
            "trial": entry.trial.name,
            "method": entry.trial.method,
            "env": entry.trial.env,
            "seed": entry.trial.seed,
            "preset": entry.trial.preset,
            "frames": entry.trial.frames,
            "resources": entry.resources,
        }
        for entry in planned
    ]
    if args.json:
        total = sum(entry.trial.frames for entry in planned)
        experiment = planned[0].trial.experiment
        print(json.dumps({"experiment": experiment, "frames": total, "trials": rows}, indent=2))
    else:
        _print_table(rows)
    return DONE


def _list(args: argparse.Namespace) -> int:
    from rllib_ride.experiments import names, paper

    if args.what == "methods":
        rows = [{"method": name, "paper": paper.METHODS.get(name, "")} for name in names.methods()]
    elif args.what == "envs":
        rows = [{"env": name, "paper": paper.ENVS.get(name, "")} for name in names.envs()]
    else:
        rows = [
            {"experiment": str(path), "paper": paper.origin(path)}
            for path in sorted(Path("tune_configs").glob("*.yaml"))
        ]
    print(json.dumps(rows, indent=2)) if args.json else _print_table(rows)
    return DONE


def _print_table(rows: list[dict[str, Any]]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(*rows[0] if rows else [], box=None)
    for row in rows:
        table.add_row(*map(_cell, row.values()))
    Console().print(table)


def _cell(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{number:g} {name}" for name, number in value.items())
    return f"{value:,}" if isinstance(value, int) else str(value)
