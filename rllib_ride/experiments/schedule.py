"""Computes when the last of many trials ends that share the cores of a cluster."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass

from rllib_ride.experiments.errors import ConfigError


@dataclass(frozen=True)
class Job:
    """What the cost of a trial depends on.

    Attributes:
        env: Environment id.
        method: Intrinsic reward, or `none`.
        frames: Transitions the agent chooses.
        fps: Frames per second of the trial, on the resources it requests.
        bundles: Cores of each bundle it requests; bundles may be on different nodes.
    """

    env: str
    method: str
    frames: int
    fps: float
    bundles: tuple[float, ...] = (1.0,)

    @property
    def hours(self) -> float:
        """Hours from its start to its end."""
        return self.frames / self.fps / 3600

    @property
    def core_hours(self) -> float:
        """Core-hours of all the cores that it occupies."""
        return self.hours * sum(self.bundles)


def wall_hours(jobs: Sequence[Job], *, nodes: int, cores: int) -> float:
    """Hours until the last trial ends, if each starts as soon as there are cores for it.

    As in Tune, trials start in order, and one that has to wait blocks those behind it. This is list
    scheduling (Graham, 1969): it takes at least as long as the longest trial, and as all core-hours
    divided by all cores.

    Args:
        jobs: Trials in the order they start.
        nodes: Number of machines.
        cores: Cores per machine.

    Raises:
        ConfigError: A trial does not fit into the cluster.
    """
    free = [float(cores)] * nodes
    running: list[tuple[float, int, list[tuple[int, float]]]] = []  # end, number, (node, cores)
    now = 0.0
    for number, job in enumerate(jobs):
        while (placed := _place(job.bundles, free)) is None:
            if not running:
                raise ConfigError(
                    f"a trial of {job.method} on {job.env} asks for {_cores(job.bundles)}, which "
                    f"{nodes} x {cores} do not have: give more --cores or --nodes"
                )
            now, _, released = heapq.heappop(running)
            for node, size in released:
                free[node] += size
        for node, size in placed:
            free[node] -= size
        heapq.heappush(running, (now + job.hours, number, placed))
    return max((end for end, _, _ in running), default=now)


def _place(bundles: Sequence[float], free: Sequence[float]) -> list[tuple[int, float]] | None:
    """Node and cores of each bundle, by first fit; None if there is no room for all bundles."""
    left = list(free)
    placed = []
    for size in bundles:
        node = next((i for i, room in enumerate(left) if room >= size), None)
        if node is None:
            return None
        left[node] -= size
        placed.append((node, size))
    return placed


def _cores(bundles: Sequence[float]) -> str:
    return f"{' + '.join(f'{size:g}' for size in bundles)} cores"
