"""`rllib-ride evaluate`: play episodes with a checkpoint's policy."""

from __future__ import annotations

import argparse
import json

from rllib_ride.experiments.errors import ConfigError
from rllib_ride.verbs.arguments import add_play, file_path, seed
from rllib_ride.verbs.exit_codes import DONE
from rllib_ride.verbs.table import print_table, rounded


def add_parser(verbs: argparse._SubParsersAction) -> None:
    """Adds the verb and its arguments."""
    parser = verbs.add_parser("evaluate", help="play episodes with a checkpoint's policy")
    parser.set_defaults(verb=evaluate)
    parser.add_argument(
        "checkpoint", metavar="CHECKPOINT", type=file_path, help="a checkpoint_* folder"
    )
    add_play(parser)
    parser.add_argument("--env", metavar="ID", help="default: the one it was trained on")
    parser.add_argument("--seed", type=seed, default=0, metavar="S", help="default: 0")


def evaluate(args: argparse.Namespace) -> int:
    """Plays the episodes and prints the scores."""
    from rllib_ride.analysis.evaluate import evaluate as play
    from rllib_ride.analysis.policy import load_policy
    from rllib_ride.experiments.names import check_env
    from rllib_ride.experiments.quiet import quiet_ray

    quiet_ray()
    if args.env is not None:
        check_env(args.env)
    try:
        policy = load_policy(args.checkpoint, env=args.env)
    except (OSError, ValueError) as error:
        raise ConfigError(str(error)) from error
    scores = play(policy, episodes=args.episodes, seed=args.seed, greedy=args.greedy)
    if args.json:
        print(json.dumps(vars(scores), indent=2))
    else:
        print_table([rounded(vars(scores))])
    return DONE
