"""Progress lines if stderr is no terminal, as in a log file, and the cells of the table."""

from __future__ import annotations

import io
import pickle
from dataclasses import replace
from functools import partial
from types import SimpleNamespace

import pytest
from rich.console import Console
from rich.live import Live

from helpers import trials
from rllib_ride.experiments.live import LiveCallback

TRIAL = trials.trial(name="ride_A_seed7", frames=2_000_000, schedule_frames=2_000_000)
result = partial(trials.result, mean=0.256)


@pytest.fixture
def live():
    # As Tune does: pickled into tuner.pkl, set up afterwards.
    callback = pickle.loads(pickle.dumps(LiveCallback([TRIAL])))
    callback.setup()
    yield callback
    callback.on_experiment_end([])


TUNE_TRIAL = SimpleNamespace(config={"trial": TRIAL.to_dict()})


def cells(live):
    (row,) = live._rows.values()
    return row.cells()


def test_cells_say_how_fast_and_how_long_still(live):
    assert cells(live) == ["ride_A_seed7", "0 of 2.00M", "", "", "", "waiting"]

    live.on_trial_result(0, [], TUNE_TRIAL, result(100_000, 100))
    live.on_trial_result(0, [], TUNE_TRIAL, result(200_000, 110))

    # The last 100,000 frames took 10 s; the first rate, 1,000 a second, is past.
    assert cells(live) == ["ride_A_seed7", "0.20M of 2.00M", "10,000", "0.26", "0.1250", "3:00"]


def test_long_waits_are_told_in_hours(live):
    live.on_trial_result(0, [], TUNE_TRIAL, result(200_000, 1000))

    assert cells(live)[-1] == "2:30:00"


def test_a_resumed_trial_is_not_credited_with_the_frames_before(live):
    live.on_trial_result(0, [], TUNE_TRIAL, result(1_000_000, 1000))
    live.on_trial_result(0, [], TUNE_TRIAL, result(1_000_500, 1010))

    assert cells(live)[2] == "50"


def test_a_trial_that_is_tried_again_has_its_rate_from_then_on(live, capsys):
    live.on_trial_result(0, [], TUNE_TRIAL, result(200_000, 100))
    live.on_trial_recover(0, [], TUNE_TRIAL)
    assert capsys.readouterr().err.endswith(", trying again\n")
    live.on_trial_start(0, [], TUNE_TRIAL)
    live.on_trial_result(0, [], TUNE_TRIAL, result(150_000, 75))
    live.on_trial_result(0, [], TUNE_TRIAL, result(151_000, 76))

    assert cells(live)[2] == "1,000"


def test_without_a_terminal_lines_come_now_and_then_and_at_the_end(live, capsys):
    for step in range(1, 50):
        live.on_trial_result(0, [], TUNE_TRIAL, result(1000 * step, step))
    live.on_trial_complete(0, [], TUNE_TRIAL)

    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.splitlines() == [
        "ride_A_seed7: 1,000 of 2.00M frames, 1,000 frames/s, return 0.26, "
        "intrinsic reward 0.1250, 33:19 left",
        "ride_A_seed7: 49,000 of 2.00M frames, 1,000 frames/s, return 0.26, "
        "intrinsic reward 0.1250, done",
    ]


def many(number):
    trials = [replace(TRIAL, name=f"ride_A_seed{seed}", seed=seed) for seed in range(number)]
    callback = LiveCallback(trials)
    return callback, [SimpleNamespace(config={"trial": trial.to_dict()}) for trial in trials]


def test_without_a_terminal_forty_running_trials_are_not_forty_lines(capsys):
    callback, trials = many(40)
    callback.setup()
    callback._last_lines = float("inf")  # as if lines had just been printed
    for trial in trials[:30]:
        callback.on_trial_result(0, [], trial, result(1000, 1))
    callback._last_lines = float("-inf")
    callback.on_trial_result(0, [], trials[0], result(2000, 2))

    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 9
    assert lines[-1] == "... 40 trials: 30 running, 10 waiting"


def test_on_a_screen_that_is_too_small_the_running_ones_come_first(capsys):
    callback, trials = many(40)
    console = Console(file=io.StringIO(), force_terminal=True, width=100, height=13)
    callback._live = Live(console=console)
    callback._row(trials[3]).state = "failed"
    callback._row(trials[0]).state = "done"
    for trial in trials[20:24]:
        callback.on_trial_result(0, [], trial, result(1000, 1))

    table = callback._table()
    names = list(table.columns[0].cells)
    assert names[:5] == [f"ride_A_seed{seed}" for seed in (20, 21, 22, 23, 3)]
    assert len(names) == 10
    assert table.caption == "10 of 40 trials: 34 waiting, 4 running, 1 done, 1 failed"


def test_the_cursor_is_given_back_however_the_run_ends():
    callback, _ = many(2)
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=True, width=100, height=13)
    callback._live = Live(get_renderable=callback._table, console=console)
    callback._live.start()
    assert "\x1b[?25l" in screen.getvalue()

    callback.stop()  # `run` calls it if a second Ctrl-C has cut Tune short
    callback.on_experiment_end([])

    assert screen.getvalue().rindex("\x1b[?25h") > screen.getvalue().rindex("\x1b[?25l")
