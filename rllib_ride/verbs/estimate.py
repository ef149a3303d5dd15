"""`rllib-ride estimate`: what an experiment would cost."""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
from typing import TYPE_CHECKING, Any

from rllib_ride.experiments.errors import ConfigError
from rllib_ride.machine import num_cores
from rllib_ride.verbs.arguments import (
    add_experiment,
    add_storage,
    count,
    few,
    number,
    planned_trials,
)
from rllib_ride.verbs.exit_codes import DONE
from rllib_ride.verbs.table import print_table
from rllib_ride.wording import unknown

if TYPE_CHECKING:
    from rllib_ride.experiments.estimate import Estimate
    from rllib_ride.experiments.plan import PlannedTrial


def add_parser(verbs: argparse._SubParsersAction) -> None:
    """Adds the verb and its arguments."""
    parser = verbs.add_parser("estimate", help="frames, core-hours and hours of an experiment")
    parser.set_defaults(verb=estimate)
    add_experiment(parser)
    parser.add_argument(
        "--fps",
        action="append",
        default=[],
        type=rate,
        metavar="[METHOD=]N",
        help="frames a second of a trial on its own cores, of all methods or of one (repeatable); "
        "default: what runs in --storage have had",
    )
    add_storage(parser)
    parser.add_argument(
        "--cores", type=count, metavar="N", help="cores of a node; default: this machine's"
    )
    parser.add_argument("--nodes", type=few, default=1, metavar="N", help="default: 1")
    parser.add_argument("--price", type=number, metavar="P", help="of a core for an hour")


def rate(text: str) -> tuple[str | None, float]:
    """`N` or `METHOD=N`."""
    method, equals, value = text.rpartition("=")
    return (method if equals else None), number(value)


def estimate(args: argparse.Namespace) -> int:
    """Prints what the experiment costs, and where the time goes."""
    planned = planned_trials(args)
    from rllib_ride.experiments.estimate import estimate as cost_of
    from rllib_ride.experiments.plan import naming
    from rllib_ride.experiments.rates import jobs_of

    cores = args.cores or num_cores()
    with naming(args.config):
        jobs = jobs_of(planned, _rates(args, planned))
        told = cost_of(jobs, nodes=args.nodes, cores=cores, price=args.price)
    if args.json:
        experiment = planned[0].trial.experiment
        print(json.dumps({"experiment": experiment, **dataclasses.asdict(told)}, indent=2))
    else:
        _print(told)
    return DONE


def _rates(args: argparse.Namespace, planned: list[PlannedTrial]) -> dict[tuple[str, str], float]:
    from rllib_ride.experiments.rates import measured_rates, pairs

    if not args.fps:
        measured, notes = measured_rates(args.storage, planned[0].trial.preset)
        for note in notes:
            print(note, file=sys.stderr)
        return measured
    given = dict(args.fps)
    methods = {method for _, method in pairs(planned)}
    for method in given.keys() - methods - {None}:
        raise ConfigError("--fps: " + unknown("method", method, methods))
    rates = {pair: given.get(pair[1], given.get(None)) for pair in pairs(planned)}
    return {pair: fps for pair, fps in rates.items() if fps is not None}


def _print(told: Estimate) -> None:
    shape = f"{told.nodes} x {told.cores} cores"
    rows = [
        ("trials", f"{told.trials:,}"),
        ("frames", f"{told.frames:,}"),
        ("core-hours", f"{told.core_hours:,.1f}"),
        (f"hours on {shape}", f"{told.wall_hours:,.1f} ({told.wall_hours / 24:,.1f} days)"),
        ("longest trial, hours", f"{told.longest_trial_hours:,.1f}"),
        ("cores busy", f"{told.core_hours / told.core_hours_held:.0%}"),
    ]
    if told.cost is not None:
        rows.append(("cost of core-hours busy", f"{told.cost['busy']:,.2f}"))
        rows.append(("cost of all cores until the end", f"{told.cost['held']:,.2f}"))
    print_table([{"estimate": name, "": value} for name, value in rows])
    print("\nWhere the time goes, in core-hours:\n")
    print_table(_matrix(told))


def _matrix(told: Estimate) -> list[dict[str, Any]]:
    """Core-hours by environment (rows) and method (columns), with a total of each."""
    hours = {
        (part.env, part.method): part.core_hours
        for part in (*told.by_env_and_method, *told.by_env, *told.by_method)
    }
    hours[None, None] = told.core_hours
    shares = {part.env: part.share for part in told.by_env}
    methods = [*(part.method for part in told.by_method), None]
    return [
        {
            "env": env or "all",
            **{method or "all": f"{hours[env, method]:,.1f}" for method in methods},
            "share": f"{shares.get(env, 1.0):.0%}",
        }
        for env in [*shares, None]
    ]
