import json

import numpy as np
import pytest

from helpers.run_folders import curve_text, write_trial
from rllib_ride.analysis.runs import read_curve, read_runs


def test_reads_facts_and_curve_of_every_trial(tmp_path):
    write_trial(tmp_path, method="ride", seed=3, frames=[10, 20], return_mean=[None, 0.5])
    write_trial(tmp_path, method="none", seed=4, frames=[10], return_mean=[0.25])
    (tmp_path / "not-a-trial").mkdir()

    none, ride = read_runs(tmp_path)

    assert (none.method, none.seed, ride.method, ride.seed) == ("none", 4, "ride", 3)
    assert ride.curve["frames"].tolist() == [10, 20]
    np.testing.assert_array_equal(ride.curve["return_mean"], [np.nan, 0.5])
    assert none.curve["return_mean"].tolist() == [0.25]


def test_a_trial_that_has_not_reported_has_an_empty_curve(tmp_path):
    write_trial(tmp_path)
    header_only = write_trial(tmp_path, seed=2, frames=[])
    assert (header_only / "curve.csv").read_text().count("\n") == 1

    assert [len(run.curve) for run in read_runs(tmp_path)] == [0, 0]


def test_a_line_being_written_is_left_out(tmp_path):
    path = tmp_path / "curve.csv"
    path.write_text(curve_text(frames=[100, 200]) + "300,1")

    assert read_curve(path)["frames"].tolist() == [100, 200]


def test_variants_tell_apart_trials_whose_config_differs(tmp_path):
    for seed in (1, 2):
        for coef in (0.1, 0.30000000000000004):
            config = {"lr": 1e-4, "intrinsic": {"coef": coef}, "seed": seed}
            folder = write_trial(tmp_path / f"{seed}{coef}", method="ride", config=config)
            folder.rename(tmp_path / f"ride-{coef}-{seed}")
    write_trial(tmp_path, method="none", config={"lr": 2e-4})

    labels = [run.label for run in read_runs(tmp_path)]

    assert labels == ["none", *["ride (coef=0.1)"] * 2, *["ride (coef=0.3)"] * 2]


def test_a_key_that_only_some_trials_set_is_a_variant(tmp_path):
    write_trial(tmp_path, seed=1, config={"lr": 0.5})
    write_trial(tmp_path, seed=2, config={})

    assert [run.label for run in read_runs(tmp_path)] == ["ride (lr=0.5)", "ride (lr=None)"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("frames,fps\n1,2\n", "column 'wall_s' is missing"),
        (curve_text(frames=["many"]), "every value must be a number, but .*many"),
    ],
)
def test_a_curve_no_trial_writes_is_refused_by_name(tmp_path, text, message):
    path = tmp_path / "curve.csv"
    path.write_text(text)

    with pytest.raises(ValueError, match=f"{path}: {message}"):
        read_curve(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "not JSON"),
        (json.dumps({"method": "ride", "env": 3}), "key 'env' must be str, not 3"),
        (json.dumps({"method": "ride", "env": "E", "config": {}}), "key 'seed' must be int"),
    ],
)
def test_facts_no_trial_writes_are_refused_by_name(tmp_path, text, message):
    folder = write_trial(tmp_path)
    (folder / "run.json").write_text(text)

    with pytest.raises(ValueError, match=f"run.json: {message}"):
        read_runs(tmp_path)
