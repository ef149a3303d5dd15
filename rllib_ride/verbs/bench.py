"""`rllib-ride bench`: how fast this machine trains."""

from __future__ import annotations

import argparse
import json
import sys
from typing import TYPE_CHECKING, Any

from rllib_ride.verbs.arguments import add_set, few, number
from rllib_ride.verbs.exit_codes import DONE, FAILED
from rllib_ride.verbs.table import print_table
from rllib_ride.wording import last_line

if TYPE_CHECKING:
    from rllib_ride.experiments.trial import Trial

_FRAMES = 30_000_000  # the paper's run on the default task; the learning rate anneals over them


def add_parser(verbs: argparse._SubParsersAction) -> None:
    """Adds the verb and its arguments."""
    parser = verbs.add_parser("bench", help="measure frames a second, memory and time to start")
    parser.set_defaults(verb=bench)
    parser.add_argument(
        "--seconds", type=number, default=60.0, metavar="S", help="of training; default: 60"
    )
    parser.add_argument("--method", default="ride", help="default: ride")
    parser.add_argument(
        "--env",
        default="MiniGrid-MultiRoom-N7-S4-v0",
        metavar="ID",
        help="default: MiniGrid-MultiRoom-N7-S4-v0",
    )
    parser.add_argument(
        "--preset", default="paper", help="hyperparameters; default: paper (T = 100, B = 32)"
    )
    parser.add_argument(
        "--trials",
        type=few,
        default=1,
        metavar="N",
        help="side by side, one process each; default: 1, with an EnvRunner beside it",
    )
    add_set(parser, "num_env_runners=2")
    parser.add_argument(
        "--compare",
        action="store_true",
        help="measure method none and benchmarks/hand_loop.py too, and print the ratios",
    )


def bench(args: argparse.Namespace) -> int:
    """Measures and prints the figures."""
    trials = _trials(args)
    from ray.exceptions import RayError

    from rllib_ride.experiments.bench import figures
    from rllib_ride.experiments.bench.memory import process_started_at
    from rllib_ride.experiments.plan import planned

    if args.compare:
        figures.check_comparable(trials)
    planned(trials[0])  # refuses an invalid config now
    try:
        measured = figures.bench(trials, args.seconds, started_at=process_started_at())
        if args.compare:
            measured |= figures.compare(trials, args.seconds, measured["fps"])
    except (RayError, RuntimeError) as error:
        print(f"bench failed: {last_line(error)}", file=sys.stderr)
        return FAILED
    print(json.dumps(measured, indent=2)) if args.json else _print(measured)
    return DONE


def _trials(args: argparse.Namespace) -> list[Trial]:
    """Trials that only differ in their seed, with method, environment and preset checked."""
    from rllib_ride.experiments.names import check_names
    from rllib_ride.experiments.quiet import quiet_ray
    from rllib_ride.experiments.schema import ExperimentSpec
    from rllib_ride.experiments.trial import expand
    from rllib_ride.machine import num_cores

    spec = ExperimentSpec(
        experiment="bench",
        env=args.env,
        method=args.method,
        preset=args.preset,
        seed=list(range(1, args.trials + 1)),
        frames=_FRAMES,
    )
    quiet_ray()
    check_names(spec)
    overrides = dict(args.set)
    if args.trials == 1 and num_cores() > 1:
        # In one process, sampling and learning take turns. A trial that is alone on the machine can
        # do both at once.
        overrides.setdefault("num_env_runners", 1)
    return expand(spec, overrides=overrides)


_ROWS = (
    ("fps", "frames/s", "trained, end to end"),
    ("fps_sampled", "frames/s", "sampled"),
    ("stages.env", "steps/s", "environments alone, one core"),
    ("stages.inference", "steps/s", "acting alone, one core"),
    ("stages.learner", "steps/s", "learning alone, one core"),
    ("bytes_per_frame", "bytes", "of a frame, from runner to learner"),
    ("time_to_first_update_s", "s", "from the command to the first update"),
    ("peak_rss_mb", "MiB", "all processes, object store left out"),
    ("none_fps", "frames/s", "trained, without a bonus"),
    ("hand_loop_fps", "frames/s", "benchmarks/hand_loop.py, one core"),
    ("ride_over_none", "", "RIDE over no bonus"),
    ("over_hand_loop", "", "over the hand-written loop"),
)


def _print(measured: dict[str, Any]) -> None:
    """Prints what was measured, and a table of the figures."""
    settings = ", ".join(f"{key} {value}" for key, value in measured["settings"].items())
    print(f"{measured['method']} on {measured['env']}, {measured['cores']} cores: {settings}")
    flat = {**measured, **{f"stages.{name}": rate for name, rate in measured["stages"].items()}}
    rows = [
        {"figure": name, "value": _number(flat[name]), "unit": unit, "what": what}
        for name, unit, what in _ROWS
        if name in flat
    ]
    for index, trial in enumerate(measured["trials"], start=1):
        if len(measured["trials"]) > 1:
            fps = _number(trial["fps"])
            rows.append(
                {"figure": "fps", "value": fps, "unit": "frames/s", "what": f"trial {index}"}
            )
    print_table(rows)


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.2f}"
