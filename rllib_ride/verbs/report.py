"""`rllib-ride report`: figures, tables and a page from the folders of runs."""

from __future__ import annotations

import argparse
import json
import shlex
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rllib_ride.experiments.errors import ConfigError
from rllib_ride.experiments.folders import check_writable
from rllib_ride.verbs.arguments import file_path, finite
from rllib_ride.verbs.exit_codes import DONE, FAILED
from rllib_ride.verbs.table import print_table

if TYPE_CHECKING:
    from rllib_ride.analysis.runs import Run


def add_parser(verbs: argparse._SubParsersAction) -> None:
    """Adds the verb and its arguments."""
    parser = verbs.add_parser("report", help="draw and tabulate what runs have reached")
    parser.set_defaults(verb=report)
    parser.add_argument(
        "run_dirs",
        nargs="+",
        type=file_path,
        metavar="RUN_DIR",
        help="a trial's folder, an experiment's, or the storage of several",
    )
    parser.add_argument(
        "--out", type=file_path, required=True, metavar="DIR", help="where to write it"
    )
    parser.add_argument(
        "--threshold",
        type=finite,
        metavar="RETURN",
        help="mean return that counts as solved; default: 0.6 for MultiRoom-N7-S4 and -N10-S4 and "
        "KeyCorridorS3R3, 0.5 for the others",
    )
    parser.add_argument("--wandb", action="store_true", help="make a W&B report too")


def report(args: argparse.Namespace) -> int:
    """Writes the report; prints how far each run has come, and the files' names."""
    from rllib_ride.analysis.report import write_report
    from rllib_ride.analysis.runs import read_runs
    from rllib_ride.analysis.tables import runs_rows, runs_table

    check_writable(f"--out {args.out}", args.out)
    if args.wandb:
        _check_wandb()
    readings = read_runs(args.run_dirs)
    command = shlex.join(["rllib-ride", *args.argv])
    try:
        files, notes = write_report(readings, args.out, command=command, threshold=args.threshold)
    except ValueError as error:
        raise ConfigError(str(error)) from error
    except OSError as error:  # a full disk, a folder without write permission
        raise ConfigError(f"--out {args.out} cannot be written: {error}") from error
    for note in notes:
        print(note, file=sys.stderr)
    url = _save_to_wandb(readings.runs, args.threshold) if args.wandb else None
    rows = runs_table(readings.runs)
    if args.json:
        told = {
            "out": str(args.out),
            "files": [str(path) for path in files],
            "runs": json.loads(rows.to_json(orient="records")),
            "notes": notes,
            "wandb": url,
        }
        print(json.dumps(told, indent=2))
    else:
        print_table(runs_rows(rows))
        for path in [*files, *([url] if url else [])]:
            print(path)
    return FAILED if args.wandb and url is None else DONE


def _check_wandb() -> None:
    """Refuses `--wandb` if W&B is not installed, or nobody is logged in."""
    from rllib_ride.analysis.wandb_report import default_entity

    try:
        default_entity()
    except ImportError:
        raise ConfigError(
            "--wandb needs wandb and wandb-workspaces: pip install 'rllib-ride[wandb,report]'"
        ) from None
    except Exception as error:  # wandb raises several types, its own and those of requests
        raise ConfigError(f"--wandb: W&B cannot be reached: {error}") from None


def _save_to_wandb(runs: Sequence[Run], threshold: float | None) -> str | None:
    """The URL of the W&B report; None if W&B fails, with the reason on stderr."""
    from rllib_ride.analysis.wandb_report import save

    try:
        return save(runs, threshold=threshold)
    except Exception as error:  # as in `_check_wandb`
        print(f"no W&B report: {error}", file=sys.stderr)
        return None
