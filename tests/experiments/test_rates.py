"""Rates read from runs, and the trials that have them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from helpers.run_folders import curve_text
from rllib_ride.experiments.errors import ConfigError
from rllib_ride.experiments.plan import plan
from rllib_ride.experiments.rates import jobs_of, measured_rates

TEXT = """
experiment: x
env: MiniGrid-Empty-5x5-v0
method: [ride, none]
seed: 1
frames: 1e6
"""


def write_run(folder: Path, *, frames, wall_s, env="A", method="ride", preset="paper") -> Path:
    folder.mkdir(parents=True)
    facts = {"env": env, "method": method, "preset": preset}
    (folder / "run.json").write_text(json.dumps(facts))
    (folder / "curve.csv").write_text(curve_text(frames=frames, wall_s=wall_s))
    return folder


def test_rates_are_read_from_runs(tmp_path):
    write_run(tmp_path / "x" / "1", frames=[10, 1000], wall_s=[5, 10])
    torn = write_run(tmp_path / "y" / "2", frames=[3000], wall_s=[10])
    (torn / "curve.csv").write_text((torn / "curve.csv").read_text() + "9000,1")
    write_run(tmp_path / "y" / "3", frames=[700], wall_s=[2], method="none")
    write_run(tmp_path / "y" / "4", frames=[99], wall_s=[1], preset="tuned")
    write_run(tmp_path / "y" / "5", frames=[], wall_s=[], env="B")

    rates, notes = measured_rates(tmp_path, "paper")

    assert rates == {("A", "ride"): (1000 + 3000) / (10 + 10), ("A", "none"): 350}
    assert notes == []
    assert measured_rates(tmp_path / "nowhere", "paper") == ({}, [])


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("run.json", "{}", "is no record of a trial"),
        ("run.json", '{"env": [], "method": 1, "preset": null}', "is no record of a trial"),
        ("run.json", "[1]", "is no record of a trial"),
        ("run.json", '{"env": "A", "me', "cannot be read, not JSON, "),
        ("run.json", None, "cannot be read, it is a folder"),
        ("curve.csv", None, "cannot be read, it is a folder"),
    ],
)
def test_a_damaged_trial_is_left_out_and_noted(tmp_path, name, content, said):
    write_run(tmp_path / "x" / "1", frames=[1000], wall_s=[10])
    damaged = write_run(tmp_path / "x" / "2", frames=[10], wall_s=[5]) / name
    damaged.unlink()
    damaged.mkdir() if content is None else damaged.write_text(content)

    rates, (note,) = measured_rates(tmp_path, "paper")

    assert rates == {("A", "ride"): 100}
    assert note.startswith(f"{damaged}: {said}")
    assert note.endswith("; the trial is left out")


def test_trials_become_jobs_with_the_cores_they_ask_for(tmp_path):
    path = tmp_path / "x.yaml"
    path.write_text(TEXT + "config: {num_env_runners: 2, num_cpus_per_env_runner: 3}")
    env = "MiniGrid-Empty-5x5-v0"

    jobs = jobs_of(plan(path), {(env, "ride"): 50.0, (env, "none"): 70.0})

    assert [(j.method, j.fps, j.frames) for j in jobs] == [
        ("ride", 50.0, 10**6),
        ("none", 70.0, 10**6),
    ]
    assert sorted(jobs[0].bundles, reverse=True)[:2] == [3.0, 3.0]
    assert sum(jobs[0].bundles) == plan(path)[0].resources["CPU"]


def test_a_trial_without_a_rate_or_with_a_gpu_is_refused(tmp_path):
    path = tmp_path / "x.yaml"
    path.write_text(TEXT)
    env = "MiniGrid-Empty-5x5-v0"

    with pytest.raises(ConfigError, match=f"no rate for none on {env}: no run of them"):
        jobs_of(plan(path), {(env, "ride"): 50.0})
    path.write_text(TEXT + "config: {num_learners: 1, num_gpus_per_learner: 1}")
    with pytest.raises(ConfigError, match="asks for GPU: an estimate is of cores alone"):
        jobs_of(plan(path), {(env, "ride"): 50.0, (env, "none"): 50.0})
