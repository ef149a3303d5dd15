import json
import os
import time

import pytest

from rllib_ride.analysis.states import State, state_of, was_resumed


def touch(path, *, seconds_ago):
    path.write_text("")
    then = time.time() - seconds_ago
    os.utime(path, (then, then))


@pytest.mark.parametrize(
    ("frames", "asked", "curve", "error", "state"),
    [
        (1000, 1000, 9000, None, State.DONE),
        (1000, 1000, 9000, 9500, State.DONE),  # failed once, resumed to its end
        (400, 1000, 9000, None, State.STOPPED),
        (400, 1000, 10, None, State.RUNNING),
        (400, 1000, 9000, 8000, State.FAILED),
        (400, 1000, 10, 9000, State.RUNNING),  # goes on after a failure
        (400, 1000, 9000, 9500, State.STOPPED),
        (0, 1000, None, 9000, State.FAILED),
        (0, 1000, 10, None, State.NO_REPORT),
        (0, 1000, None, None, State.NO_REPORT),
        (400, None, 9000, None, State.UNKNOWN),
    ],
)
def test_state_is_told_from_frames_and_files(tmp_path, frames, asked, curve, error, state):
    if curve is not None:
        touch(tmp_path / "curve.csv", seconds_ago=curve)
    if error is not None:
        touch(tmp_path / "error.txt", seconds_ago=error)

    touch(tmp_path / "result.json", seconds_ago=10)

    assert state_of(tmp_path, frames, asked) is state


def test_a_curve_that_is_new_because_it_was_copied_is_no_running_one(tmp_path):
    touch(tmp_path / "curve.csv", seconds_ago=10)

    assert state_of(tmp_path, 400, 1000) is State.STOPPED
    assert state_of(tmp_path, 400, None) is State.UNKNOWN


def result(iteration, since_restore, padding=0):
    counts = {"training_iteration": iteration, "iterations_since_restore": since_restore}
    return json.dumps({**counts, "padding": "x" * padding}) + "\n"


@pytest.mark.parametrize(
    ("text", "resumed"),
    [
        (result(1, 1) + result(2, 2), False),
        (result(1, 1) + result(2, 1), True),
        (result(7, 2) + '{"training_iteration": 8, "iter', True),  # a line being written
        (result(1, 1, padding=200_000) * 3 + result(2, 1), True),
        ("", False),
        ("no json\n", False),
        ("[]\n", False),
    ],
)
def test_resumed_is_told_by_the_last_whole_result(tmp_path, text, resumed):
    (tmp_path / "result.json").write_text(text)

    assert was_resumed(tmp_path) is resumed


def test_without_results_nothing_tells_of_a_resume(tmp_path):
    assert was_resumed(tmp_path) is False


def test_a_run_that_has_ended_by_its_return_is_done(tmp_path):
    touch(tmp_path / "curve.csv", seconds_ago=9000)

    assert state_of(tmp_path, 400, 1000) is State.STOPPED
    assert state_of(tmp_path, 400, 1000, ended=True) is State.DONE
