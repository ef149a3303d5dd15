"""Estimates what an experiment costs: frames, core-hours, and hours on a given cluster."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rllib_ride.experiments.schedule import Job, wall_hours


@dataclass(frozen=True)
class Part:
    """The cost of the trials of one environment and one method, or of all of either.

    Attributes:
        env: Environment id; None: all.
        method: Method; None: all.
        trials: Number of trials.
        frames: Frames of these trials together.
        core_hours: Core-hours of these trials together.
        share: Their share of the experiment's core-hours, from 0 to 1.
        fps: Frames per second of a trial: all frames over the sum of the trials' seconds.
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
        trials: Number of trials.
        frames: Frames of all trials together.
        core_hours: Core-hours that the trials occupy.
        wall_hours: From the first start to the last end.
        longest_trial_hours: Hours of the longest trial, which more cores do not shorten.
        nodes: Number of machines.
        cores: Cores per machine.
        core_hours_held: Core-hours of the whole cluster until the last end.
        cost: Price of `core_hours` (`busy`) and of `core_hours_held` (`held`); None without a price
            per core-hour.
        by_env: The cost of each environment.
        by_method: The cost of each method.
        by_env_and_method: The cost of each pair.
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
        nodes: Number of machines.
        cores: Cores per machine.
        price: Price per core-hour.

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
