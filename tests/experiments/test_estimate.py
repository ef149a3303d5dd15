"""Costs against answers worked out by hand."""

from __future__ import annotations

import pytest

from rllib_ride.experiments.estimate import estimate
from rllib_ride.experiments.schedule import Job


def test_what_it_costs_and_where_the_time_goes():
    jobs = [
        Job("A", "ride", 7_200_000, 1000.0),  # 2 h
        Job("A", "none", 7_200_000, 2000.0),  # 1 h
        Job("B", "ride", 3_600_000, 500.0, (1.0, 1.0)),  # 2 h on two cores
    ]

    told = estimate(jobs, nodes=1, cores=3, price=0.5)

    assert (told.trials, told.frames) == (3, 18_000_000)
    assert told.core_hours == 2 + 1 + 4
    assert told.wall_hours == 1 + 2  # the last waits for a second core
    assert told.longest_trial_hours == 2
    assert told.core_hours_held == 9
    assert told.cost == {"busy": 3.5, "held": 4.5}
    assert {part.env: part.core_hours for part in told.by_env} == {"A": 3, "B": 4}
    assert {part.method: part.core_hours for part in told.by_method} == {"ride": 6, "none": 1}
    assert sum(part.share for part in told.by_env) == pytest.approx(1)
    a = told.by_env[0]
    assert (a.method, a.trials, a.frames, a.share) == (None, 2, 14_400_000, 3 / 7)
    assert a.fps == pytest.approx(14_400_000 / (3 * 3600))
    parts = {(part.env, part.method): part.core_hours for part in told.by_env_and_method}
    assert parts == {("A", "ride"): 2, ("A", "none"): 1, ("B", "ride"): 4}
    assert estimate(jobs, nodes=1, cores=3).cost is None
