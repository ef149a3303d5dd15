import json
import shutil

import numpy as np
import pytest

from helpers.run_folders import write_trial
from rllib_ride.analysis.runs import Code, read_runs
from rllib_ride.analysis.states import State


def test_reads_facts_and_curve_of_every_trial(tmp_path):
    record = {
        "experiment": "maze",
        "frames": 20,
        "env_options": {"singleton_seed": 1},
        "git_commit": "abc",
        "versions": {"ray": "2.60.0"},
    }
    write_trial(tmp_path, seed=3, record=record, frames=[10, 20], return_mean=[None, 0.5])
    write_trial(tmp_path, method="none", seed=4, frames=[10], return_mean=[0.25])
    (tmp_path / "not-a-trial").mkdir()

    readings = read_runs([tmp_path])
    none, ride = readings.runs

    assert readings.notes == []
    assert (none.method, none.seed, ride.method, ride.seed) == ("none", 4, "ride", 3)
    assert (ride.experiment, none.experiment) == ("maze", tmp_path.name)
    assert (ride.task, none.task) == ("Env-v0 (singleton_seed=1)", "Env-v0")
    assert (ride.frames, ride.frames_asked, ride.state) == (20, 20, State.DONE)
    assert (ride.code, ride.resumed) == ((Code("abc", (("ray", "2.60.0"),)),), False)
    np.testing.assert_array_equal(ride.curve["return_mean"], [np.nan, 0.5])
    assert none.curve["return_mean"].tolist() == [0.25]


def test_a_trial_that_has_not_reported_has_an_empty_curve(tmp_path):
    write_trial(tmp_path)
    header_only = write_trial(tmp_path, seed=2, frames=[])
    assert (header_only / "curve.csv").read_text().count("\n") == 1

    runs = read_runs([tmp_path]).runs

    assert [(len(run.curve), run.frames) for run in runs] == [(0, 0), (0, 0)]
    assert {run.state for run in runs} == {State.NO_REPORT}


def test_a_trial_an_experiment_and_a_storage_are_all_read_once(tmp_path):
    experiment = tmp_path / "experiment"
    trial = write_trial(experiment, seed=1, frames=[1])
    write_trial(experiment, seed=2, frames=[1])

    assert [len(read_runs([path]).runs) for path in (trial, experiment, tmp_path)] == [1, 2, 2]
    overlapping = read_runs([tmp_path, experiment, trial, tmp_path])
    assert len(overlapping.runs) == 2 and overlapping.notes == []


def test_runs_of_one_method_with_other_settings_have_other_labels(tmp_path):
    for seed in (1, 2):
        for coef in (0.1, 0.2):
            config = {"coef": coef, "seed": seed}
            write_trial(tmp_path, seed=seed, config=config, frames=[1])
    write_trial(tmp_path, method="none", config={"coef": 0.4}, frames=[1])

    labels = [run.label for run in read_runs([tmp_path]).runs]

    assert sorted(labels) == ["none", *["ride (coef=0.1)"] * 2, *["ride (coef=0.2)"] * 2]


def test_settings_that_look_alike_are_no_doubles(tmp_path):
    for lr in (0.1, 0.1000000001):
        write_trial(tmp_path, config={"lr": lr}, frames=[1])

    readings = read_runs([tmp_path])

    labels = sorted(run.label for run in readings.runs)
    assert labels == ["ride (lr=0.1)", "ride (lr=0.1000000001)"]
    assert readings.notes == []


def test_of_two_runs_that_claim_one_trial_the_further_one_is_used(tmp_path):
    near = write_trial(tmp_path / "a", frames=[100], return_mean=[0.1])
    far = write_trial(tmp_path / "b", frames=[100, 200], return_mean=[0.1, 0.3])
    write_trial(tmp_path / "b", seed=2, frames=[100])

    readings = read_runs([tmp_path])

    assert [(run.folder, run.seed) for run in readings.runs] == [
        (far, 1),
        (far.parent / "ride_Env-v0_seed2", 2),
    ]
    (note,) = readings.notes
    assert note.startswith(f"{near}: left out, the same trial as {far}")
    assert "100 and 200 frames" in note


@pytest.mark.parametrize("kind", ["missing", "empty", "foreign", "file"])
def test_a_folder_without_trials_is_noted_and_the_others_read(tmp_path, kind):
    write_trial(tmp_path / "good", frames=[1])
    path = tmp_path / "other"
    if kind == "file":
        path.write_text("frames")
    elif kind != "missing":
        path.mkdir()
        if kind == "foreign":
            (path / "progress.csv").write_text("a,b\n1,2\n")

    readings = read_runs([path, tmp_path / "good"])

    assert len(readings.runs) == 1
    (note,) = readings.notes
    assert note.startswith(f"{path}: ") and "run.json" in note


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "missing"),
        ("{", "not JSON"),
        ("[1]", "must hold keys and values, not list"),
        (json.dumps({"method": "ride", "env": 3}), "key 'env' must be str, not 3"),
        (json.dumps({"method": "ride", "env": "E", "config": {}}), "key 'seed' must be int"),
        (
            json.dumps({"method": "r", "env": "E", "config": {}, "seed": 1, "frames": "1e6"}),
            "key 'frames' must be int, not '1e6'",
        ),
    ],
)
def test_a_trial_whose_record_is_damaged_is_noted_and_the_others_read(tmp_path, text, message):
    path = write_trial(tmp_path, frames=[1]) / "run.json"
    path.unlink() if text is None else path.write_text(text)
    write_trial(tmp_path, seed=2, frames=[1])

    readings = read_runs([tmp_path])

    assert [run.seed for run in readings.runs] == [2]
    (note,) = readings.notes
    assert note.startswith(f"{path}: ") and message in note


def test_all_faults_of_a_curve_are_one_note(tmp_path):
    path = write_trial(tmp_path, frames=["nan", 2, 3], return_mean=[0, "x", 1]) / "curve.csv"
    path.write_text(path.read_text() + "4,")

    readings = read_runs([tmp_path])

    assert readings.runs[0].curve["frames"].tolist() == [2, 3]
    (note,) = readings.notes
    assert note.startswith(f"{path}: ")
    assert all(word in note for word in ("cut short", "'frames'", "'return_mean'"))


def test_trials_that_have_not_started_are_counted(tmp_path):
    names = [write_trial(tmp_path, seed=seed, frames=[1]).name for seed in (1, 2, 3)]
    (tmp_path / "trials.json").write_text(json.dumps([{"name": name} for name in names]))
    shutil.rmtree(tmp_path / names[2])

    assert read_runs([tmp_path]).notes == [f"{tmp_path}: 1 of its 3 trials have not started"]


def test_a_trial_that_went_on_with_other_settings_is_used_and_told(tmp_path):
    resumed = [{"git_commit": "b", "changed": {"lr": [1e-4, 2e-4]}}, {"changed": {"gamma": [1, 2]}}]
    path = write_trial(tmp_path, frames=[1], record={"resumed": resumed})
    write_trial(
        tmp_path, seed=2, frames=[1], record={"resumed": [{"git_commit": "b", "changed": {}}]}
    )
    write_trial(tmp_path, seed=3, frames=[1], record={"resumed": [3, {"changed": "abc"}]})

    readings = read_runs([tmp_path])

    assert len(readings.runs) == 3
    (note,) = readings.notes
    assert note.startswith(f"{path / 'run.json'}: ") and "gamma, lr changed on the way" in note


def test_a_run_that_went_on_with_other_code_was_resumed_and_tells_of_both(tmp_path):
    code = {"git_commit": "a", "versions": {"ray": "1"}}
    later = {"git_commit": "b", "versions": {"ray": "2"}, "changed": {}}
    spoiled = {"git_commit": "\n", "versions": [3], "changed": {}}
    write_trial(tmp_path, frames=[1], record={**code, "resumed": [later, spoiled]})

    (run,) = read_runs([tmp_path]).runs

    assert run.resumed
    assert run.code == (Code("a", (("ray", "1"),)), Code("b", (("ray", "2"),)), Code(None, ()))


def test_of_many_settings_changed_on_the_way_some_are_named(tmp_path):
    many = {f"k{i}": [1, 2] for i in range(9)}
    write_trial(tmp_path, frames=[1], record={"resumed": [{}, {"changed": many}]})

    (note,) = read_runs([tmp_path]).notes
    assert "k3, k4, 4 more changed on the way" in note
