"""`rllib-ride check`: validate an experiment and print its trials."""

from __future__ import annotations

import argparse
import json

from rllib_ride.verbs.arguments import add_experiment, planned_trials
from rllib_ride.verbs.exit_codes import DONE
from rllib_ride.verbs.table import print_table


def add_parser(verbs: argparse._SubParsersAction) -> None:
    """Adds the verb and its arguments."""
    parser = verbs.add_parser("check", help="validate an experiment and print its trials")
    parser.set_defaults(verb=check)
    add_experiment(parser)


def check(args: argparse.Namespace) -> int:
    """Prints the trials."""
    planned = planned_trials(args)
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
        print_table(rows)
    return DONE
