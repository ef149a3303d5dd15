"""How a trial's speed depends on the numbers of environments and EnvRunners, unroll length, batch.

    python benchmarks/scaling.py --seconds 30                  # four tables, about half an hour
    python benchmarks/scaling.py --table runners               # one of them

Prints Markdown. Each row is a separate trial, trained as by `rllib-ride bench` with the preset
`paper` and one setting changed. The batch holds at least one fragment of every environment. Stages
are measured separately, each on one core (see `rllib_ride.experiments.bench.stages`). Run it on an
otherwise idle machine.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from rllib_ride.experiments.bench.stages import measure_stages
from rllib_ride.experiments.bench.train import local_ray, num_cores, train
from rllib_ride.experiments.schema import ExperimentSpec
from rllib_ride.experiments.trial import expand

NUM_ENVS, UNROLL_LENGTH, SEQUENCES = 32, 100, 32
STAGE_SECONDS = 5.0


@dataclass(frozen=True)
class Table:
    """Rows in which one setting varies.

    Attributes:
        title: The setting that varies.
        values: Its values.
        settings: RLlib's settings for a value, on top of the preset's.
    """

    title: str
    values: Sequence[int]
    settings: Callable[[int], dict[str, Any]]


def sized(num_envs: int, unroll_length: int, sequences: int) -> dict[str, int]:
    """Settings for N environments, fragments of T steps and at least `sequences` per batch.

    IMPALA learns from whole fragments of all environments, so a batch cannot hold fewer sequences
    than there are environments.
    """
    return {
        "num_envs_per_env_runner": num_envs,
        "rollout_fragment_length": unroll_length,
        "train_batch_size_per_learner": max(sequences, num_envs) * unroll_length,
    }


TABLES = {
    "envs": Table(
        "environments per runner",
        (8, 16, 32, 64, 128, 256, 512),
        lambda n: sized(n, UNROLL_LENGTH, SEQUENCES),
    ),
    "runners": Table("EnvRunners", (0, 1, 2, 3, 4), lambda n: {"num_env_runners": n}),
    "unroll": Table(
        "unroll length T", (16, 32, 64, 100, 128), lambda t: sized(NUM_ENVS, t, SEQUENCES)
    ),
    "batch": Table(
        "sequences a batch", (32, 64, 128, 256), lambda b: sized(NUM_ENVS, UNROLL_LENGTH, b)
    ),
}

COLUMNS = (
    "frames/s",
    "sampled/s",
    "env steps/s",
    "inference steps/s",
    "learner frames/s",
    "bytes/frame",
    "peak MiB",
)


def row(settings: dict[str, Any], *, method: str, env: str, seconds: float) -> list[float]:
    """Measures one row, in the order of `COLUMNS`."""
    spec = ExperimentSpec(
        experiment="scaling", env=env, method=method, preset="paper", seed=1, frames=30e6
    )
    trials = expand(spec, overrides=settings)
    with local_ray(trials):
        measured = train(trials, seconds)
        stages = measure_stages(trials[0], min(seconds, STAGE_SECONDS))
    return [
        measured.fps,
        measured.fps_sampled,
        stages.env,
        stages.inference,
        stages.learner,
        stages.bytes_per_frame,
        measured.peak_rss_mb,
    ]


def main() -> None:
    """Prints the tables, each row as soon as it is measured."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=30.0, help="of training, for each row")
    parser.add_argument("--method", default="ride")
    parser.add_argument("--env", default="MiniGrid-MultiRoom-N7-S4-v0")
    parser.add_argument("--table", choices=TABLES, action="append", help="default: all")
    options = parser.parse_args()
    print(f"{options.method} on {options.env}, {num_cores()} cores, {options.seconds:g} s a row")
    for name in options.table or TABLES:
        table = TABLES[name]
        print(f"\n| {table.title} | {' | '.join(COLUMNS)} |")
        print("|---:" * (1 + len(COLUMNS)) + "|", flush=True)
        for value in table.values:
            numbers = row(
                table.settings(value),
                method=options.method,
                env=options.env,
                seconds=options.seconds,
            )
            cells = " | ".join(f"{number:,.0f}" for number in numbers)
            print(f"| {value} | {cells} |", flush=True)


if __name__ == "__main__":
    main()
