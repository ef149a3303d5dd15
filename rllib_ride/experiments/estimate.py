"""What an experiment costs: frames, core-hours, and hours on a cluster of a given shape."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rllib_ride.experiments.schedule import Job, wall_hours


@dataclass(frozen=True)
class Part:
    """The trials of one environment and method, or of all of either.

    Attributes:
        env: Environment id; None: all.
        method: Method; None: all.
        trials: How many there are.
        frames: Of all of them together.
        core_hours: Of all of them together.
        share: Of the experiment's core-hours, from 0 to 1.
        fps: Frames a second of a trial; of different ones, all frames over all trials' seconds.
    """

    env: str | None
    method: str | None
    trials: int
    frames: int
    core_hours: float
    share: float
    fps: float


@dataclass(frozen=True)
class Estimate:
    """What an experiment costs on a cluster.

    Attributes:
        trials: How many there are.
        frames: Of all trials.
        core_hours: During which a trial keeps a core.
        wall_hours: From the first start to the last end.
        longest_trial_hours: What no number of cores shortens.
        nodes: Machines.
        cores: Cores of each.
        core_hours_held: Of the whole cluster until the last end.
        cost: Of the core-hours that trials keep (`busy`), and of those of the cluster (`held`);
            None without a price.
        by_env: Where the time goes, and likewise the next two.
        by_method: See `by_env`.
        by_env_and_method: See `by_env`.
    """

    trials: int
    frames: int
    core_hours: float
    wall_hours: float
    longest_trial_hours: float
    nodes: int
    cores: int
    core_hours_held: float
    cost: dict[str, float] | None
    by_env: list[Part]
    by_method: list[Part]
    by_env_and_method: list[Part]


def estimate(
    jobs: Sequence[Job], *, nodes: int, cores: int, price: float | None = None
) -> Estimate:
    """What the trials cost on `nodes` machines of `cores` cores each.

    Args:
        jobs: Trials in the order they start; at least one.
        nodes: Machines.
        cores: Cores of each.
        price: Of a core for an hour.

    Raises:
        ConfigError: A trial does not fit into the cluster.
    """
    wall = wall_hours(jobs, nodes=nodes, cores=cores)
    busy, held = sum(job.core_hours for job in jobs), nodes * cores * wall
    envs = dict.fromkeys(job.env for job in jobs)
    methods = dict.fromkeys(job.method for job in jobs)
    both = dict.fromkeys((job.env, job.method) for job in jobs)
    return Estimate(
        trials=len(jobs),
        frames=sum(job.frames for job in jobs),
        core_hours=busy,
        wall_hours=wall,
        longest_trial_hours=max(job.hours for job in jobs),
        nodes=nodes,
        cores=cores,
        core_hours_held=held,
        cost=None if price is None else {"busy": busy * price, "held": held * price},
        by_env=[_part(jobs, env, None) for env in envs],
        by_method=[_part(jobs, None, method) for method in methods],
        by_env_and_method=[_part(jobs, env, method) for env, method in both],
    )


def _part(jobs: Sequence[Job], env: str | None, method: str | None) -> Part:
    mine = [job for job in jobs if env in (None, job.env) and method in (None, job.method)]
    frames, core_hours = sum(job.frames for job in mine), sum(job.core_hours for job in mine)
    return Part(
        env=env,
        method=method,
        trials=len(mine),
        frames=frames,
        core_hours=core_hours,
        share=core_hours / sum(job.core_hours for job in jobs),
        fps=frames / sum(job.hours * 3600 for job in mine),
    )
