"""`rllib-ride list`: print the available methods, environments or experiments."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from rllib_ride.verbs.exit_codes import DONE
from rllib_ride.verbs.table import print_table


def add_parser(verbs: argparse._SubParsersAction) -> None:
    """Adds the verb and its arguments."""
    parser = verbs.add_parser("list", help="print the methods, environments or experiments")
    parser.set_defaults(verb=list_known)
    parser.add_argument("what", choices=["methods", "envs", "experiments"])


def list_known(args: argparse.Namespace) -> int:
    """Prints the methods, environments or experiments."""
    from rllib_ride.experiments import names, paper

    if args.what == "methods":
        rows = [{"method": name, "paper": paper.METHODS.get(name, "")} for name in names.methods()]
    elif args.what == "envs":
        rows = names.env_rows()
    else:
        rows = [_experiment_row(path) for path in names.experiment_files()]
    print(json.dumps(rows, indent=2)) if args.json else print_table(rows)
    return DONE


def _experiment_row(path: Path) -> dict[str, Any]:
    from rllib_ride.experiments.paper import origin
    from rllib_ride.experiments.plan import naming
    from rllib_ride.experiments.schema import load_spec
    from rllib_ride.experiments.trial import expand

    spec = load_spec(path)
    with naming(path):
        trials = expand(spec)
    return {
        "experiment": str(path),
        "trials": len(trials),
        "frames": sum(trial.frames for trial in trials),
        "paper": origin(path),
    }
