"""Tests that the chaos suite's checks find the problems they look for."""

from __future__ import annotations

import json
import shutil

import pytest
import torch
from ray.rllib.core.rl_module.torch import TorchRLModule

from chaos import checks
from helpers.trials import trial as small_trial
from rllib_ride.experiments.curve import COLUMNS
from rllib_ride.experiments.trainable import TrialTrainable
from rllib_ride.rllib.ray_internals import module_folder
from rllib_ride.rllib.weights import WEIGHTS_FILE
from rllib_ride.seal import read_seal, write_seal

SAID = """\
curves while it trains: tensorboard --logdir runs/chaos
ride_Empty-5x5_seed1: 1,376 of 12,000 frames, 900 frames/s, return 0.5, intrinsic reward -, running
saving checkpoints; again to end at once
interrupted; go on with: rllib-ride run chaos.yaml --resume
"""


def curve(*rows: tuple[int, float]) -> str:
    """The text of a `curve.csv` with these frames and seconds."""
    lines = [",".join([str(frames), str(wall_s), *["1"] * 7]) for frames, wall_s in rows]
    return "\n".join([",".join(COLUMNS), *lines, ""])


def row(frames: int) -> dict[str, str]:
    return {"frames": str(frames), "wall_s": "1"}


def test_one_short_message_is_what_is_wanted():
    assert checks.message(SAID, "interrupted") == []
    assert "no message with 'disk'" in checks.message(SAID, "disk")[0]
    assert "no message" in checks.message("", "interrupted")[0]
    assert "no clear message" in checks.message(SAID * 9, "interrupted")[0]


@pytest.mark.parametrize(
    "line",
    [
        "Traceback (most recent call last):",
        '  File "rllib_ride/cli.py", line 40, in main',
        "Fatal Python error: Aborted",
        "*** SIGABRT received at time=1 on cpu 0 ***",
        "[2026-11-28 11:34:10,439 E 2201 2201] core_worker.cc:1: Raylet is gone",
    ],
)
def test_what_only_a_programmer_reads_is_noise(line):
    assert checks.noise(f"interrupted\n{line}\n")
    assert checks.message(f"interrupted\n{line}\n", "interrupted")


def test_a_curve_rises_in_whole_rows_below_its_header():
    assert checks.curve_text(curve((10, 1.0), (20, 1.0), (30, 2.0))) == []
    assert checks.curve_text("") == []
    assert "20 are followed by 20" in checks.curve_text(curve((20, 1.0), (20, 2.0)))[0]
    assert "20 are followed by 10" in checks.curve_text(curve((20, 1.0), (10, 2.0)))[0]
    assert "wall_s 2.0" in checks.curve_text(curve((10, 2.0), (20, 1.0)))[0]
    assert "half a row" in checks.curve_text(curve((10, 1.0)) + "20,2.")[0]
    assert "other columns" in checks.curve_text(curve((10, 1.0)) + "20,2.0\n")[0]
    assert "begins with" in checks.curve_text(curve((10, 1.0)).removeprefix("frames"))[0]


def test_rows_up_to_the_checkpoint_are_kept():
    before = [row(10), row(20), row(30)]

    assert checks.kept_rows(before, [row(10), row(20), row(25)], 20) == []
    assert checks.kept_rows(before, [], 0) == []
    assert "lost ['20']" in checks.kept_rows(before, [row(10), row(25)], 20)[0]
    assert checks.kept_rows(before, [row(5), row(10), row(20)], 20)


def seal_again(folder, frames):
    """Seals a checkpoint's current content, with this many frames."""
    facts = read_seal(folder)
    write_seal(folder, {**facts, "frames": frames, "result": {"frames": frames}})


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    folder = tmp_path_factory.mktemp("saved")
    trainable = TrialTrainable({"trial": small_trial().to_dict()})
    trainable.save_checkpoint(str(folder))
    trainable.stop()
    seal_again(folder, 0)
    return folder


@pytest.fixture
def trial(saved, tmp_path):
    """The folder of a trial with one checkpoint, of 0 frames."""
    shutil.copytree(saved, tmp_path / "checkpoint_000000")
    return tmp_path


def test_a_checkpoint_is_the_policy_of_its_frames_and_has_its_row(trial):
    assert checks.checkpoints(trial, []) == []

    seal_again(trial / "checkpoint_000000", 10)
    (problem,) = checks.checkpoints(trial, [row(10)])
    assert "of 0 frames says 10" in problem
    assert "no row" in checks.checkpoints(trial, [row(20)])[1]


def test_weights_that_are_no_numbers_are_found(trial):
    folder = trial / "checkpoint_000000"
    path = module_folder(folder, "intrinsic")
    module = TorchRLModule.from_checkpoint(str(path))
    with torch.no_grad():
        next(module.parameters()).fill_(torch.nan)
    module.save_to_path(str(path))
    seal_again(folder, 0)

    assert "weights that are no numbers" in checks.checkpoints(trial, [row(0)])[0]


def test_a_checkpoint_that_is_whole_and_does_not_load_is_found(trial):
    folder = trial / "checkpoint_000000"
    (folder / WEIGHTS_FILE).write_bytes(b"")
    assert checks.checkpoints(trial, [row(0)]) == []  # not whole, so nothing loads it

    seal_again(folder, 0)
    assert "does not load" in checks.checkpoints(trial, [row(0)])[0]


def test_a_record_is_counted_by_its_kind():
    from chaos.campaign import Record, counts

    entry = {
        **{"kind": "sigint", "seed": 1, "kinds": ["sigint"], "place": "plain", "moment": "now"},
        **{"did": "SIGINT", "then": "resumed", "problems": [], "seconds": 2.0, "at": "12:00:00"},
    }
    went_on = {**entry, "kind": "two_runs", "then": "went on within 4 s"}
    records = [Record(**entry), Record(**{**entry, "problems": ["a port"]}), Record(**went_on)]

    assert counts(records).splitlines()[2:] == [
        "| sigint | 2 | 0 | 1 | 1 |",
        "| two_runs | 1 | 1 | 0 | 0 |",
        "| all | 3 | 1 | 1 | 1 |",
    ]
    assert "FAILED sigint" in records[1].line and "\n    a port" in records[1].line
    assert json.loads(json.dumps(entry)) == entry


def test_a_plan_has_each_kind_as_often_as_the_others():
    import random

    from chaos.campaign import KINDS, plan

    trainings = plan(list(KINDS), 2 * len(KINDS), random.Random(1))
    drawn = [kind for training in trainings for kind in training]
    assert sorted(drawn) == sorted([*KINDS, *KINDS])
    assert all(len({KINDS[kind].place for kind in training}) == 1 for training in trainings)
    assert plan(list(KINDS), 40, random.Random(1)) == plan(list(KINDS), 40, random.Random(1))
