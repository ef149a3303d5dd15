"""The command `rllib-ride`: reads arguments, calls the rooms, prints what they return.

Ray and torch are imported inside the verbs, so that `--help` and a mistyped file answer at once.
"""

from __future__ import annotations

import argparse
import json
import math
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from rllib_ride.experiments import yaml_file
from rllib_ride.experiments.errors import ConfigError

if TYPE_CHECKING:
    from rllib_ride.experiments.plan import PlannedTrial
    from rllib_ride.experiments.runner import TrialOutcome

DONE, FAILED, BAD_INPUT, INTERRUPTED = 0, 1, 2, 130


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one verb and returns the exit code.

    0: done; 1: a run failed; 2: bad input, told in one message, nothing written; 130: interrupted.
    """
    try:
        args = _parser().parse_args(argv)
        args.argv = sys.argv[1:] if argv is None else list(argv)
    except SystemExit as stop:  # argparse has printed help or what is wrong
        return int(stop.code or 0)
    try:
        return args.verb(args)
    except ConfigError as error:
        print(error, file=sys.stderr)
        return BAD_INPUT
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return INTERRUPTED


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="rllib-ride", description="Intrinsic rewards for RLlib, and the RIDE paper's runs."
    )
    verbs = parser.add_subparsers(required=True, metavar="VERB")

    check = verbs.add_parser("check", help="validate an experiment and print its trials")
    check.set_defaults(verb=_check)
    _add_experiment(check)

    run = verbs.add_parser("run", help="train the trials of an experiment")
    run.set_defaults(verb=_run)
    _add_experiment(run)
    run.add_argument(
        "--storage", type=Path, default=Path("runs"), metavar="DIR", help="default: runs/"
    )
    run.add_argument("--resume", action="store_true", help="go on from the last checkpoints")
    run.add_argument("--wandb", choices=["off", "offline", "online"], default="off")
    run.add_argument("--address", help="of a Ray cluster; auto: the one this machine is in")
    run.add_argument("--dry-run", action="store_true", help="print the trials and run none")

    listing = verbs.add_parser("list", help="print the methods, environments or experiments")
    listing.set_defaults(verb=_list)
    listing.add_argument("what", choices=["methods", "envs", "experiments"])

    evaluate = verbs.add_parser("evaluate", help="play episodes with a checkpoint's policy")
    evaluate.set_defaults(verb=_evaluate)
    evaluate.add_argument(
        "checkpoint", metavar="CHECKPOINT", type=Path, help="a checkpoint_* folder"
    )
    evaluate.add_argument("--episodes", type=_count, default=100, metavar="N", help="default: 100")
    evaluate.add_argument("--env", metavar="ID", help="default: the one it was trained on")
    evaluate.add_argument("--seed", type=_seed, default=0, metavar="S", help="default: 0")
    evaluate.add_argument("--greedy", action="store_true", help="take the likeliest action")

    for verb in (run, check, evaluate, listing):
        verb.add_argument("--json", action="store_true", help="print one JSON document")
    return parser


def _add_experiment(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("config", metavar="CONFIG", help="a YAML such as those in tune_configs/")
    verb.add_argument("--method", action="append", default=[], help="only this one (repeatable)")
    verb.add_argument("--env", action="append", default=[], help="only this one (repeatable)")
    verb.add_argument(
        "--seed", action="append", default=[], type=int, help="only this one (repeatable)"
    )
    verb.add_argument("--frames", type=_count, metavar="N", help="stop after N transitions")
    verb.add_argument(
        "--set",
        action="append",
        default=[],
        type=_setting,
        metavar="KEY=VALUE",
        help="override a config key, such as lr=1e-4 or intrinsic.coef=0.5 (repeatable)",
    )


def _count(text: str) -> int:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 1 <= value < float("inf") or value != int(value):
        raise argparse.ArgumentTypeError(f"must be a positive whole number, not {text!r}")
    return int(value)


def _seed(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"must be a whole number of at least 0, not {text!r}")
    return int(text)


def _setting(text: str) -> tuple[str, Any]:
    key, equals, value = text.partition("=")
    if not equals or not key:
        raise argparse.ArgumentTypeError(f"must be KEY=VALUE, not {text!r}")
    try:
        return key, yaml_file.parse(value)
    except yaml.YAMLError:
        raise argparse.ArgumentTypeError(f"{key}: {value!r} is not readable as YAML") from None


def _plan(args: argparse.Namespace) -> list[PlannedTrial]:
    from rllib_ride.experiments.schema import load_spec

    load_spec(args.config)  # a mistyped key is told before Ray's seconds of imports
    from rllib_ride.experiments.plan import plan
    from rllib_ride.experiments.quiet import quiet_ray

    quiet_ray()
    return plan(
        args.config,
        methods=args.method,
        envs=args.env,
        seeds=args.seed,
        frames=args.frames,
        overrides=dict(args.set),
    )


def _run(args: argparse.Namespace) -> int:
    if args.dry_run:
        return _check(args)
    trials = [planned.trial for planned in _plan(args)]
    from rllib_ride.experiments.runner import check_folder, experiment_folder, run
    from rllib_ride.experiments.wandb import wandb_callbacks

    check_folder(trials, args.storage, resume=args.resume)
    ended = run(
        trials,
        args.storage,
        resume=args.resume,
        address=args.address,
        callbacks=wandb_callbacks(args.wandb, trials[0].experiment),
    )
    folder = experiment_folder(trials, args.storage)
    interrupted = any(outcome.state == "interrupted" for outcome in ended)
    files = [] if interrupted else _write_results(folder, ended)
    rows = [_outcome_row(outcome) for outcome in ended]
    if args.json:
        paths = [str(path) for path in files]
        print(json.dumps({"folder": str(folder), "trials": rows, "files": paths}, indent=2))
    else:
        _print_table([{key: row[key] for key in _OUTCOME_COLUMNS} for row in rows])
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
        "frames": progress.frames if progress else 0,
        "return_mean": None if math.isnan(mean) else round(mean, 4),
        "minutes": round(progress.wall_s / 60, 1) if progress else 0.0,
        "checkpoint": str(outcome.checkpoint) if outcome.checkpoint else None,
        "error": outcome.error,
    }


def _write_results(folder: Path, ended: Sequence[TrialOutcome]) -> list[Path]:
    """Curves and table of what there is, and a picture of one episode of a trained policy."""
    from rllib_ride.analysis import write_episode_picture, write_summary
    from rllib_ride.analysis.record import record_episode

    files = write_summary(folder)
    for outcome in ended:
        if outcome.checkpoint and outcome.trial.method != "none":
            try:
                episode = record_episode(outcome.checkpoint, seed=outcome.trial.seed)
            except ValueError as error:  # a picture is of a MiniGrid level
                print(f"no picture of an episode: {error}", file=sys.stderr)
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
        again = [*args.argv, *([] if args.resume else ["--resume"])]
        print(f"interrupted; go on with: rllib-ride {shlex.join(again)}", file=sys.stderr)
        return INTERRUPTED
    if "failed" in states:
        return FAILED
    print(f"finished: {folder}", file=sys.stderr)
    return DONE


def _evaluate(args: argparse.Namespace) -> int:
    from rllib_ride.analysis.evaluate import evaluate
    from rllib_ride.analysis.policy import load_policy
    from rllib_ride.experiments.names import check_env
    from rllib_ride.experiments.quiet import quiet_ray

    quiet_ray()
    if args.env is not None:
        check_env(args.env)
    try:
        policy = load_policy(args.checkpoint, env=args.env)
    except ValueError as error:
        raise ConfigError(str(error)) from error
    scores = evaluate(policy, episodes=args.episodes, seed=args.seed, greedy=args.greedy)
    if args.json:
        print(json.dumps(vars(scores), indent=2))
    else:
        _print_table([vars(scores)])
    return DONE


def _check(args: argparse.Namespace) -> int:
    planned = _plan(args)
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
        _print_table(rows)
    return DONE


def _list(args: argparse.Namespace) -> int:
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
    print(json.dumps(rows, indent=2)) if args.json else _print_table(rows)
    return DONE


def _print_table(rows: list[dict[str, Any]]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None)
    for name in rows[0] if rows else []:
        table.add_column(name, overflow="fold")
    for row in rows:
        table.add_row(*map(_cell, row.values()))
    console = Console()
    if not console.is_terminal:  # a file or a pipe has no width to fit into
        console = Console(width=1000)
    console.print(table)


def _cell(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{number:g} {name}" for name, number in value.items())
    if value is None:
        return ""
    return f"{value:,}" if isinstance(value, int) else str(value)


if __name__ == "__main__":
    sys.exit(main())
