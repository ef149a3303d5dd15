"""`rllib-ride run`: train the trials of an experiment."""

from __future__ import annotations

import argparse
import json
import math
import os
import shlex
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rllib_ride.experiments.steady_memory import keep_memory_steady
from rllib_ride.verbs.arguments import add_experiment, add_storage, planned_trials
from rllib_ride.verbs.check import check
from rllib_ride.verbs.exit_codes import DONE, FAILED, INTERRUPTED
from rllib_ride.verbs.table import print_table
from rllib_ride.wording import told

if TYPE_CHECKING:
    from rllib_ride.experiments.runner import TrialOutcome


def add_parser(verbs: argparse._SubParsersAction) -> None:
    """Adds the verb and its arguments."""
    parser = verbs.add_parser("run", help="train the trials of an experiment")
    parser.set_defaults(verb=run)
    add_experiment(parser)
    add_storage(parser)
    parser.add_argument("--resume", action="store_true", help="go on from the last checkpoints")
    parser.add_argument("--wandb", choices=["off", "offline", "online"], default="off")
    parser.add_argument(
        "--wandb-artifacts", action="store_true", help="also log checkpoints and figures to W&B"
    )
    parser.add_argument(
        "--address", help="of a Ray cluster; auto: the one this machine is in; local: none"
    )
    parser.add_argument("--dry-run", action="store_true", help="print the trials and run none")


def run(args: argparse.Namespace) -> int:
    """Trains the trials, writes curves and a table, and prints how each trial ended."""
    if args.dry_run:
        return check(args)
    keep_memory_steady()
    trials = [planned.trial for planned in planned_trials(args)]
    from rllib_ride.experiments.full_disk import DiskFull, told_if_full
    from rllib_ride.experiments.runner import experiment_folder
    from rllib_ride.experiments.runner import run as run_trials
    from rllib_ride.experiments.wandb import log_figures, wandb_callbacks

    folder = experiment_folder(trials, args.storage)
    wandb = wandb_callbacks(args.wandb, trials[0].experiment, artifacts=args.wandb_artifacts)
    try:
        ended = run_trials(
            trials,
            args.storage,
            resume=args.resume,
            address=args.address,
            callbacks=wandb,
            on_lost_head=partial(_end_at_once, args),
        )
        interrupted = any(outcome.state == "interrupted" for outcome in ended)
        with told_if_full(folder):
            files = [] if interrupted else _write_results(folder, ended)
    except DiskFull as error:
        print(error, file=sys.stderr)
        return _say_how_to_go_on(args)
    if files and args.wandb != "off" and args.wandb_artifacts:
        try:
            log_figures(files, args.wandb, trials[0].experiment, folder)
        except Exception as error:  # W&B raises many types, and the run itself is done
            print(f"no figures in W&B: {told(error)}", file=sys.stderr)
    rows = [_outcome_row(outcome) for outcome in ended]
    if args.json:
        paths = [str(path) for path in files]
        print(json.dumps({"folder": str(folder), "trials": rows, "files": paths}, indent=2))
    else:
        print_table([{key: row[key] for key in _OUTCOME_COLUMNS} for row in rows])
        for path in files:
            print(path)
    return _say_how_it_ended(args, ended, folder)


_OUTCOME_COLUMNS = ("trial", "state", "frames", "return_mean", "minutes")


def _outcome_row(outcome: TrialOutcome) -> dict[str, Any]:
    progress = outcome.progress
    mean = progress.return_mean if progress else math.nan
    return {
        "trial": outcome.trial.name,
        "state": outcome.state,
        "solved": outcome.solved,
        "frames": progress.frames if progress else 0,
        "return_mean": None if math.isnan(mean) else round(mean, 4),
        "minutes": round(progress.wall_s / 60, 1) if progress else 0.0,
        "checkpoint": str(outcome.checkpoint) if outcome.checkpoint else None,
        "error": outcome.error,
    }


def _write_results(folder: Path, ended: Sequence[TrialOutcome]) -> list[Path]:
    """Writes curves and a table of all trials, and a picture of one episode of a trained policy."""
    from rllib_ride.analysis.episode_picture import write_episode_picture
    from rllib_ride.analysis.finish import write_summary
    from rllib_ride.analysis.record import record_episode

    files = write_summary(folder)
    for outcome in ended:
        if outcome.checkpoint and outcome.trial.method != "none":
            try:
                episode = record_episode(outcome.checkpoint, seed=outcome.trial.seed)
            except Exception as error:  # not MiniGrid, or anything that the environment raises
                print(f"no picture of an episode: {told(error)}", file=sys.stderr)
            else:
                files.append(write_episode_picture(episode, folder / "episode.png"))
            break
    return files


def _say_how_it_ended(args: argparse.Namespace, ended: Sequence[TrialOutcome], folder: Path) -> int:
    for outcome in ended:
        if outcome.error is not None:
            print(
                f"{outcome.trial.name} failed: {outcome.error}\n  all of it: "
                f"{outcome.folder / 'error.txt'}",
                file=sys.stderr,
            )
    states = {outcome.state for outcome in ended}
    if "interrupted" in states:
        return _say_how_to_go_on(args)
    if "failed" in states:
        return FAILED
    print(f"finished: {folder}", file=sys.stderr)
    return DONE


def _end_at_once(args: argparse.Namespace, why: str) -> None:
    """Ends the process from any thread, without cleanup: Ray would keep it from ending."""
    print(why, file=sys.stderr)
    os._exit(_say_how_to_go_on(args))


def _say_how_to_go_on(args: argparse.Namespace) -> int:
    again = [*args.argv, *([] if args.resume else ["--resume"])]
    print(f"interrupted; go on with: rllib-ride {shlex.join(again)}", file=sys.stderr)
    return INTERRUPTED
