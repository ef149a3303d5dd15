"""`rllib-ride list`: print the methods, environments or experiments there are."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from rllib_ride.verbs.exit_codes import DONE
from rllib_ride.verbs.table import print_table


def add_parser(verbs: argparse._SubParsersAction) -> None:
    """Its arguments."""
    parser = verbs.add_parser("list", help="print the methods, environments or experiments")
    parser.set_defaults(verb=list_known)
    parser.add_argument("what", choices=["methods", "envs", "experiments"])


def list_known(args: argparse.Namespace) -> int:
    """Prints what there is."""
    from rllib_ride.experiments import names, paper

    if args.what == "methods":
        rows = [{"method": name, "paper": paper.METHODS.get(name, "")} for name in names.methods()]
    elif args.what == "envs":
        rows = names.env_rows()
    else:
        rows = [
            {"experiment": str(path), "paper": paper.origin(path)}
            for path in sorted(Path("tune_configs").glob("*.yaml"))
        ]
    print(json.dumps(rows, indent=2)) if args.json else print_table(rows)
    return DONE
