import re

import numpy as np
import pytest

from helpers.run_folders import curve_text
from rllib_ride.analysis.curve_file import COLUMNS, read_curve


def read(tmp_path, text):
    path = tmp_path / "curve.csv"
    path.write_text(text)
    return read_curve(path)


def test_what_a_trial_wrote_is_read_without_a_fault(tmp_path):
    curve, faults = read(tmp_path, curve_text(frames=[100, 200], return_mean=[None, 0.5]))

    assert tuple(curve.columns) == COLUMNS and faults == []
    assert curve["frames"].tolist() == [100, 200]
    np.testing.assert_array_equal(curve["return_mean"], [np.nan, 0.5])


@pytest.mark.parametrize("text", [None, "", "frames,wall_s\n"])
def test_before_the_first_report_there_are_no_rows(tmp_path, text):
    path = tmp_path / "curve.csv"
    if text is not None:
        path.write_text(text)

    assert len(read_curve(path)[0]) == 0


@pytest.mark.parametrize(
    ("text", "frames", "fault"),
    [
        (curve_text(frames=[100, 200]) + "300,1", [100, 200], "last line is cut short"),
        (curve_text(frames=[100, 200]) + ",".join("3" * 12), [100, 200], "last line is cut short"),
        (curve_text(frames=[100, "nan", 300]), [100, 300], "a value of 'frames'.*'nan'"),
        (curve_text(frames=["many", 200, "few"]), [200], "2 values of 'frames'.*the first 'many'"),
        (curve_text(frames=[100, float("inf")]), [100], "a value of 'frames'.*'inf'"),
        (curve_text(frames=[100, 200]) + f"{'1,' * 20}1\n", [100, 200], "1 line left out"),
        (curve_text(frames=[100, 300, 200, 400]), [100, 200, 400], "1 rows left out"),
        (curve_text(frames=[100, 100, 200]), [100, 200], "1 rows left out"),
        ("frames,fps\n1,2\n", [1], "without column 'wall_s', 'episodes'"),
        ("a,b\n1,2\n", [], "column 'frames' is missing, expected frames, wall_s"),
        ("\0\x01\n\0,\0\n", [], "column 'frames' is missing"),
    ],
)
def test_of_a_damaged_file_the_rest_is_read_and_the_damage_told(tmp_path, text, frames, fault):
    curve, faults = read(tmp_path, text)

    assert curve["frames"].tolist() == frames
    assert len(faults) == 1
    assert re.search(fault, faults[0]), faults


def test_a_nan_in_a_value_leaves_the_rest_of_its_row(tmp_path):
    text = curve_text(frames=[1, 2, 3], return_mean=[0.5, "NaN", 0.7], fps=[8, 9, 10])

    curve, (fault,) = read(tmp_path, text)

    np.testing.assert_array_equal(curve["return_mean"], [0.5, np.nan, 0.7])
    assert curve["fps"].tolist() == [8, 9, 10]
    assert "return_mean" in fault and "NaN" in fault
