"""`rllib-ride analyze`: play checkpoints in one level, and draw visits and intrinsic reward."""

from __future__ import annotations

import argparse
import json

from rllib_ride.experiments.errors import ConfigError
from rllib_ride.verbs.arguments import add_play, file_path, seed
from rllib_ride.verbs.exit_codes import DONE
from rllib_ride.verbs.table import print_table, rounded


def add_parser(verbs: argparse._SubParsersAction) -> None:
    """Adds the verb and its arguments."""
    parser = verbs.add_parser(
        "analyze", help="draw heatmaps of visits and intrinsic reward in one level"
    )
    parser.set_defaults(verb=analyze)
    parser.add_argument(
        "checkpoints", metavar="CHECKPOINT", type=file_path, nargs="+", help="checkpoint_* folders"
    )
    parser.add_argument(
        "--out", metavar="DIR", type=file_path, required=True, help="where to write"
    )
    add_play(parser)
    parser.add_argument("--env", metavar="ID", help="default: the one they were trained on")
    parser.add_argument(
        "--seed",
        type=seed,
        metavar="S",
        help="of the level; default: 0, or that of the one level they were trained on",
    )


def analyze(args: argparse.Namespace) -> int:
    """Writes pictures and tables, and prints the tables and the files' names."""
    from rllib_ride.analysis.analyze import analyze as play_and_write
    from rllib_ride.analysis.analyze import plan_analysis
    from rllib_ride.experiments.folders import check_writable
    from rllib_ride.experiments.names import check_env
    from rllib_ride.experiments.quiet import quiet_ray

    quiet_ray()
    if args.env is not None:
        check_env(args.env)
    check_writable(f"--out {args.out}", args.out)
    try:
        plan = plan_analysis(
            args.checkpoints,
            env=args.env,
            seed=args.seed,
            episodes=args.episodes,
            greedy=args.greedy,
        )
    except (OSError, ValueError) as error:
        raise ConfigError(str(error)) from error
    results = play_and_write(plan, args.out)
    if args.json:
        print(json.dumps(results, indent=2))
        return DONE
    for table in filter(None, (results["checkpoints"], results["actions"])):
        print_table([rounded(row) for row in table])
    for path in results["files"]:
        print(path)
    return DONE
