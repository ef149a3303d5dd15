"""`curve.csv`: which rows are written, and which a resumed trial keeps."""

from __future__ import annotations

import pytest

from helpers.trials import Tune, result
from rllib_ride.experiments.curve import COLUMNS, CurveCallback, read_curve


def frames_in(folder):
    return [int(row["frames"]) for row in read_curve(folder / "curve.csv")]


def test_a_row_in_the_contracts_columns(tmp_path):
    tune = Tune(tmp_path, CurveCallback())
    tune.start()
    tune.report(1000, 2.0, std=0.5)
    tune.report(1600, 5.0, std=0.5)

    lines = (tmp_path / "curve.csv").read_text().splitlines()
    assert lines[0] == (
        "frames,wall_s,episodes,return_mean,return_std,length_mean,intrinsic_reward_mean,fps,"
        "env_frames"
    )
    assert lines[0].split(",") == list(COLUMNS)
    assert lines[1:] == ["1000,2,100,0.5,0.5,10,0.125,500,", "1600,5,160,0.5,0.5,10,0.125,200,"]


def test_what_there_is_not_yet_is_empty(tmp_path):
    tune = Tune(tmp_path, CurveCallback())
    tune.start()
    tune.report(1000, 2.0, env_runners={}, learners={})

    assert (tmp_path / "curve.csv").read_text().splitlines()[1] == "1000,2,0,,,,,500,"


def test_one_row_a_second_but_never_without_the_checkpointed_and_the_last(tmp_path):
    tune = Tune(tmp_path, CurveCallback())
    tune.start()
    for frames, wall_s in [(10, 0.4), (20, 1.2), (30, 1.9), (40, 2.3)]:
        tune.report(frames, wall_s)
    tune.report(50, 2.5, should_checkpoint=True)
    tune.report(60, 2.6)
    tune.report(70, 2.7, done=True)

    assert frames_in(tmp_path) == [20, 40, 50, 70]


def test_a_resumed_trial_keeps_the_rows_up_to_its_checkpoint(tmp_path):
    before = Tune(tmp_path, CurveCallback())
    before.start()
    for step in (1, 2, 3, 4):
        before.report(100 * step, 2.0 * step)

    after = Tune(tmp_path, CurveCallback())  # another process, so another callback
    after.start(checkpoint=result(200, 4.0))
    after.report(290, 7.0)

    rows = read_curve(tmp_path / "curve.csv")
    assert [row["frames"] for row in rows] == ["100", "200", "290"]
    assert [row["wall_s"] for row in rows] == ["2", "4", "7"]
    assert rows[-1]["fps"] == "30"


def test_a_trial_that_starts_anew_loses_the_old_curve(tmp_path):
    before = Tune(tmp_path, CurveCallback())
    before.start()
    before.report(100, 2.0)

    Tune(tmp_path, CurveCallback()).start()

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
    before = Tune(tmp_path, CurveCallback())
    before.start()
    before.report(100, 2.0)
    with (tmp_path / "curve.csv").open("a", errors="surrogateescape") as file:
        file.write(damaged)

    Tune(tmp_path, CurveCallback()).start(checkpoint=result(300, 6.0))

    assert frames_in(tmp_path) == [100]


def test_a_file_of_zeros_is_begun_anew(tmp_path):
    (tmp_path / "curve.csv").write_bytes(bytes(4096))

    Tune(tmp_path, CurveCallback()).start()

    assert (tmp_path / "curve.csv").read_text().splitlines() == [",".join(COLUMNS)]
