"""`curve.csv`: which rows are written, and which a resumed trial keeps."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from rllib_ride.experiments.curve import COLUMNS, CurveCallback, read_curve


def result(frames, wall_s, **more):
    return {
        "num_env_steps_sampled_lifetime": frames,
        "time_total_s": wall_s,
        "env_runners": {
            "num_episodes_lifetime": frames / 10,
            "episode_return_mean": 0.5,
            "episode_return_squared_mean": 0.5,
            "episode_len_mean": 10.0,
        },
        "learners": {"intrinsic": {"intrinsic_reward_mean": 0.125}},
        **more,
    }


class Tune:
    """Calls the callback as Tune does for one trial."""

    def __init__(self, folder):
        self.trial = SimpleNamespace(path=str(folder), trial_id="t", latest_checkpoint_result=None)
        self.callback = CurveCallback()

    def start(self, checkpoint=None):
        saved = checkpoint and SimpleNamespace(metrics=checkpoint)
        self.trial.latest_checkpoint_result = saved
        self.callback.on_trial_start(0, [], self.trial)

    def report(self, *args, **more):
        self.callback.on_trial_result(0, [], self.trial, result(*args, **more))


def frames_in(folder):
    return [int(row["frames"]) for row in read_curve(folder / "curve.csv")]


def test_a_row_in_the_contracts_columns(tmp_path):
    tune = Tune(tmp_path)
    tune.start()
    tune.report(1000, 2.0)
    tune.report(1600, 5.0)

    lines = (tmp_path / "curve.csv").read_text().splitlines()
    assert lines[0] == (
        "frames,wall_s,episodes,return_mean,return_std,length_mean,intrinsic_reward_mean,fps,"
        "env_frames"
    )
    assert lines[0].split(",") == list(COLUMNS)
    assert lines[1:] == ["1000,2,100,0.5,0.5,10,0.125,500,", "1600,5,160,0.5,0.5,10,0.125,200,"]


def test_what_there_is_not_yet_is_empty(tmp_path):
    tune = Tune(tmp_path)
    tune.start()
    tune.report(1000, 2.0, env_runners={}, learners={})

    assert (tmp_path / "curve.csv").read_text().splitlines()[1] == "1000,2,0,,,,,500,"


def test_one_row_a_second_but_never_without_the_checkpointed_and_the_last(tmp_path):
    tune = Tune(tmp_path)
    tune.start()
    for frames, wall_s in [(10, 0.4), (20, 1.2), (30, 1.9), (40, 2.3)]:
        tune.report(frames, wall_s)
    tune.report(50, 2.5, should_checkpoint=True)
    tune.report(60, 2.6)
    tune.report(70, 2.7, done=True)

    assert frames_in(tmp_path) == [20, 40, 50, 70]


def test_a_resumed_trial_keeps_the_rows_up_to_its_checkpoint(tmp_path):
    before = Tune(tmp_path)
    before.start()
    for step in (1, 2, 3, 4):
        before.report(100 * step, 2.0 * step)

    after = Tune(tmp_path)  # another process, so another callback
    after.start(checkpoint=result(200, 4.0))
    after.report(290, 7.0)

    rows = read_curve(tmp_path / "curve.csv")
    assert [row["frames"] for row in rows] == ["100", "200", "290"]
    assert [row["wall_s"] for row in rows] == ["2", "4", "7"]
    assert rows[-1]["fps"] == "30"


def test_a_trial_that_starts_anew_loses_the_old_curve(tmp_path):
    before = Tune(tmp_path)
    before.start()
    before.report(100, 2.0)

    Tune(tmp_path).start()

    assert (tmp_path / "curve.csv").read_text().splitlines() == [",".join(COLUMNS)]


@pytest.mark.parametrize(
    "damaged",
    [
        "300,6,3",
        "300,6,30,0.5,0.5,10,0.125,",
        "300,6,30,0.5,0.5,10,0.125,5",  # of 50
        "300,6,3300,6,30,0.5,0.5,10,0.125,50,\n",  # half a line, and the next one after it
        "300,6,30,?,0.5,10,0.125,50,\n",
        "nan,6,30,0.5,0.5,10,0.125,50,\n",
        "300,6,30,0.5\0\0\0\0\0\0",
        "\0" * 4096,
        "\udcff\udcfe\n",
    ],
)
def test_what_a_crash_has_damaged_is_no_row(tmp_path, damaged):
    before = Tune(tmp_path)
    before.start()
    before.report(100, 2.0)
    with (tmp_path / "curve.csv").open("a", errors="surrogateescape") as file:
        file.write(damaged)

    Tune(tmp_path).start(checkpoint=result(300, 6.0))

    assert frames_in(tmp_path) == [100]


def test_a_file_of_zeros_is_begun_anew(tmp_path):
    (tmp_path / "curve.csv").write_bytes(bytes(4096))

    Tune(tmp_path).start()

    assert (tmp_path / "curve.csv").read_text().splitlines() == [",".join(COLUMNS)]
