"""Progress where stderr is no terminal, as in a log file, and the cells of the table."""

from __future__ import annotations

import pickle
from types import SimpleNamespace

import pytest

from rllib_ride.experiments.live import LiveCallback
from rllib_ride.experiments.trial import Trial

TRIAL = Trial(
    experiment="x",
    name="ride_A_seed7",
    env="MiniGrid-A-v0",
    env_options={},
    method="ride",
    preset="paper",
    seed=7,
    frames=2_000_000,
    schedule_frames=2_000_000,
    config={},
    checkpoint_every_s=60.0,
)


def result(frames, wall_s):
    return {
        "num_env_steps_sampled_lifetime": frames,
        "time_total_s": wall_s,
        "env_runners": {"episode_return_mean": 0.256},
        "learners": {"intrinsic": {"intrinsic_reward_mean": 0.0125}},
    }


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
    assert cells(live) == ["ride", "A", "7", "0 of 2.00M", "", "", "", "waiting"]

    live.on_trial_result(0, [], TUNE_TRIAL, result(100_000, 100))
    live.on_trial_result(0, [], TUNE_TRIAL, result(200_000, 110))

    # The last 100,000 frames took 10 s; the first rate, 1,000 a second, is past.
    assert cells(live) == ["ride", "A", "7", "0.20M of 2.00M", "10,000", "0.26", "0.0125", "3:00"]


def test_long_waits_are_told_in_hours(live):
    live.on_trial_result(0, [], TUNE_TRIAL, result(200_000, 1000))

    assert cells(live)[-1] == "2:30:00"


def test_a_resumed_trial_is_not_credited_with_the_frames_before(live):
    live.on_trial_result(0, [], TUNE_TRIAL, result(1_000_000, 1000))
    live.on_trial_result(0, [], TUNE_TRIAL, result(1_000_500, 1010))

    assert cells(live)[4] == "50"


def test_without_a_terminal_lines_come_now_and_then_and_at_the_end(live, capsys):
    for step in range(1, 50):
        live.on_trial_result(0, [], TUNE_TRIAL, result(1000 * step, step))
    live.on_trial_complete(0, [], TUNE_TRIAL)

    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.splitlines() == [
        "ride_A_seed7: 1,000 of 2.00M frames, 1,000 frames/s, return 0.26, "
        "intrinsic reward 0.0125, 33:19 left",
        "ride_A_seed7: 49,000 of 2.00M frames, 1,000 frames/s, return 0.26, "
        "intrinsic reward 0.0125, done",
    ]
