"""When schedules end, against values computed by hand."""

from __future__ import annotations

import random

import pytest

from rllib_ride.experiments.errors import ConfigError
from rllib_ride.experiments.schedule import Job, wall_hours


def job(hours: float, *bundles: float, env: str = "A", method: str = "ride") -> Job:
    """A trial at 1,000 frames per second that takes this many hours."""
    return Job(env, method, round(3_600_000 * hours), 1000.0, bundles or (1.0,))


def test_a_trial_starts_when_a_core_is_free():
    # Core 1: 3 h, then 1 h from 3 to 4. Core 2: 2 h, then 2.5 h from 2 to 4.5.
    jobs = [job(3), job(2), job(2.5), job(1)]

    assert wall_hours(jobs, nodes=1, cores=2) == 4.5
    assert wall_hours(jobs, nodes=2, cores=1) == 4.5
    assert wall_hours(jobs, nodes=1, cores=1) == 8.5
    assert wall_hours(jobs, nodes=1, cores=100) == 3  # the longest trial


def test_the_order_is_the_one_they_start_in():
    assert wall_hours([job(3), job(1), job(1), job(1)], nodes=1, cores=2) == 3
    assert wall_hours([job(1), job(1), job(1), job(3)], nodes=1, cores=2) == 4


def test_a_trial_of_several_cores_waits_for_all_of_them():
    # The second needs both cores, 2 to 3, and the third does not overtake it, 3 to 4.
    assert wall_hours([job(2, 1), job(1, 2), job(1, 1)], nodes=1, cores=2) == 4


def test_a_bundle_is_on_one_node_and_bundles_may_be_on_several():
    # Each of two nodes of 3 cores runs one trial of 2, and has one core left.
    two = [job(2, 2), job(2, 2)]

    assert wall_hours([*two, job(1, 2)], nodes=2, cores=3) == 3
    assert wall_hours([*two, job(1, 1, 1)], nodes=2, cores=3) == 2
    assert wall_hours([*two, job(1, 2)], nodes=1, cores=6) == 2


def test_a_trial_that_never_fits_is_refused():
    with pytest.raises(ConfigError, match="of ride on A asks for 1 [+] 4 cores, which 8 x 3 do"):
        wall_hours([job(1), job(1, 1, 4)], nodes=8, cores=3)


def test_no_schedule_beats_its_bounds():
    draw = random.Random(0)
    for _ in range(50):
        jobs = [job(draw.randint(1, 9)) for _ in range(draw.randint(1, 30))]
        nodes, cores = draw.randint(1, 4), draw.randint(1, 4)
        total, longest = sum(j.hours for j in jobs), max(j.hours for j in jobs)

        wall = wall_hours(jobs, nodes=nodes, cores=cores)

        least = max(longest, total / (nodes * cores))
        assert least <= wall <= total / (nodes * cores) + longest  # Graham's bound
