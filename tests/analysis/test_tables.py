import numpy as np

from helpers.run_folders import write_trial
from rllib_ride.analysis.runs import read_runs
from rllib_ride.analysis.tables import results_table, to_markdown


def write_two_methods(tmp_path):
    write_trial(
        tmp_path,
        method="ride",
        seed=1,
        frames=[100, 200, 300],
        return_mean=[None, 0.6, 0.8],
        fps=[10, 20, 30],
    )
    write_trial(
        tmp_path, method="ride", seed=2, frames=[100, 200], return_mean=[0.1, 0.5], fps=[40, 40]
    )
    write_trial(tmp_path, method="none", seed=1, frames=[100], return_mean=[None], fps=[50])


def test_row_of_a_method_is_what_its_curves_say(tmp_path):
    write_two_methods(tmp_path)

    ride, none = results_table(read_runs([tmp_path]).runs).to_dict("records")

    assert (ride["env"], ride["method"], ride["seeds"]) == ("Env-v0", "ride", 2)
    assert ride["frames"] == 200
    np.testing.assert_allclose(ride["return_mean"], np.mean([0.8, 0.5]))
    np.testing.assert_allclose(ride["return_std"], np.std([0.8, 0.5], ddof=1))
    assert (ride["seeds_reaching"], ride["frames_to_threshold"]) == (1, 200)
    assert ride["fps"] == np.mean([20, 40])
    assert (none["method"], none["seeds_reaching"], none["fps"]) == ("none", 0, 50)
    assert np.isnan([none["return_mean"], none["frames_to_threshold"]]).all()


def test_threshold_is_the_one_asked_for(tmp_path):
    write_two_methods(tmp_path)

    ride = results_table(read_runs([tmp_path]).runs, threshold=0.5).iloc[0]

    assert (ride["seeds_reaching"], ride["frames_to_threshold"]) == (2, 200)


def test_markdown_shows_rounded_numbers_and_dashes(tmp_path):
    write_two_methods(tmp_path)

    lines = to_markdown(results_table(read_runs([tmp_path]).runs)).splitlines()

    assert "frames to a return of 0.6" in lines[0]
    assert lines[2] == "| Env-v0 | ride | 2 | 200 | 0.650 ± 0.212 | 200 (1 of 2 seeds) | 30 |"
    assert lines[3] == "| Env-v0 | none | 1 | 100 | - | - | 50 |"


def test_a_trial_without_reports_is_counted_not_hidden(tmp_path):
    write_trial(tmp_path)

    row = results_table(read_runs([tmp_path]).runs).iloc[0]

    assert (row["seeds"], row["frames"]) == (1, 0)
