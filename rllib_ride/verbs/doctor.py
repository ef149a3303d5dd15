"""`rllib-ride doctor`: what is installed, what is missing, and the state of a cluster."""

from __future__ import annotations

import argparse
import json

from rllib_ride.verbs.exit_codes import DONE, FAILED
from rllib_ride.verbs.table import print_table


def add_parser(verbs: argparse._SubParsersAction) -> None:
    """Adds the verb and its arguments."""
    parser = verbs.add_parser("doctor", help="print what is installed, missing or wrong")
    parser.set_defaults(verb=doctor)
    parser.add_argument("--address", help="of a Ray cluster to look at; auto: the one here")


def doctor(args: argparse.Namespace) -> int:
    """Prints the findings; exit code 1 if a part that training needs is missing or wrong."""
    from rllib_ride.experiments.doctor import examine, healthy

    findings = examine(args.address)
    if args.json:
        rows = [vars(finding) for finding in findings]
        print(json.dumps({"healthy": healthy(findings), "findings": rows}, indent=2))
    else:
        print_table(
            [
                {"part": found.part, "state": found.state, "detail": found.detail}
                for found in findings
            ]
        )
    return DONE if healthy(findings) else FAILED
