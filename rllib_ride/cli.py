"""The command `rllib-ride`: parses arguments, calls the verb, returns its exit code."""

from __future__ import annotations

import argparse
import os
import select
import sys
from collections.abc import Sequence
from typing import NoReturn

from rllib_ride.experiments.errors import ConfigError
from rllib_ride.interrupts import interrupts_raised
from rllib_ride.verbs import analyze, bench, check, doctor, estimate, evaluate, list, report, run
from rllib_ride.verbs.exit_codes import BAD_INPUT, INTERRUPTED, NO_READER
from rllib_ride.wording import one_line

VERBS = (
    run,
    check,
    estimate,
    list,
    evaluate,
    analyze,
    report,
    bench,
    doctor,
)

_LONGEST_MESSAGE = 1000  # characters


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one verb and returns the exit code.

    0: done; 1: a run failed; 2: bad input, reported in one message, nothing written; 130:
    interrupted; 141: the reader of the output, such as `head`, has closed it.
    """
    try:
        code = _run_verb(argv)
        sys.stdout.flush()
        return code
    except BrokenPipeError:
        if not _nobody_reads():
            raise
        return NO_READER


def _run_verb(argv: Sequence[str] | None) -> int:
    try:
        args = _parser().parse_args(argv)
        args.argv = sys.argv[1:] if argv is None else [*argv]
    except SystemExit as stop:  # argparse has printed the help or an error
        return int(stop.code or 0)
    try:
        with interrupts_raised():
            return args.verb(args)
    except ConfigError as error:
        for line in str(error).split("\n"):
            print(one_line(line), file=sys.stderr)
        return BAD_INPUT
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return INTERRUPTED


def _nobody_reads() -> bool:
    """Whether stdout's reader has closed it; if so, redirects stdout to /dev/null, for the exit."""
    try:
        stdout = sys.stdout.fileno()
    except (OSError, ValueError):  # stdout is no file
        return False
    poll = select.poll()
    poll.register(stdout, 0)
    if not any(event & select.POLLERR for _, event in poll.poll(0)):
        return False
    os.dup2(os.open(os.devnull, os.O_WRONLY), stdout)
    return True


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        super().error(one_line(message)[:_LONGEST_MESSAGE])  # it may quote any argument


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="rllib-ride", description="Intrinsic rewards for RLlib, and the RIDE paper's runs."
    )
    verbs = parser.add_subparsers(required=True, metavar="VERB")
    for verb in VERBS:
        verb.add_parser(verbs)
    for parser_of_verb in verbs.choices.values():
        parser_of_verb.add_argument("--json", action="store_true", help="print one JSON document")
    return parser


if __name__ == "__main__":
    sys.exit(main())
