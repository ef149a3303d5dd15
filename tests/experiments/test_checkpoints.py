"""Whole checkpoints, and half-written ones."""

from __future__ import annotations

import json
import math
import shutil
from pathlib import Path

import numpy as np
import pytest

from helpers.trials import TRIAL, trial
from rllib_ride.experiments.checkpoints import refuse_others, result_of, seal, whole_checkpoints
from rllib_ride.seal import FORMAT, SEAL_FILE, SealError

RESULT = {"frames": np.int64(120), "return_mean": math.nan, "learners": {"loss": np.float32(0.5)}}


def checkpoint(folder: Path, frames: int = 120) -> Path:
    (folder / "learner").mkdir(parents=True)
    (folder / "learner" / "state.pkl").write_bytes(bytes(range(200)))
    (folder / "algorithm.json").write_text("{}")
    seal(folder, {**RESULT, "frames": frames})
    return folder


def test_a_whole_one_gives_the_result_it_was_made_after(tmp_path: Path) -> None:
    result = result_of(checkpoint(tmp_path / "checkpoint_000000"))

    assert result is not None
    assert math.isnan(result.pop("return_mean"))
    assert result == {"frames": 120, "learners": {"loss": 0.5}}


def shorten(folder: Path) -> None:
    path = folder / "learner" / "state.pkl"
    path.write_bytes(path.read_bytes()[:100])


def change(folder: Path) -> None:
    path = folder / "learner" / "state.pkl"
    path.write_bytes(path.read_bytes()[::-1])


BREAKS = {
    "a file is shorter": shorten,
    "a file is another": change,
    "a file is missing": lambda folder: (folder / "algorithm.json").unlink(),
    "a file is left of another": lambda folder: (folder / "old.pkl").write_text("x"),
    "the seal is missing": lambda folder: (folder / SEAL_FILE).unlink(),
    "the seal is half": lambda folder: (folder / SEAL_FILE).write_text('{"files": {'),
    "the folder is empty": lambda folder: (shutil.rmtree(folder), folder.mkdir()),
}


@pytest.mark.parametrize("how", BREAKS)
def test_a_broken_one_is_not_whole(tmp_path: Path, how: str) -> None:
    whole = checkpoint(tmp_path / "checkpoint_000003", frames=30)
    broken = checkpoint(tmp_path / "checkpoint_000004", frames=40)
    BREAKS[how](broken)

    assert result_of(broken) is None
    ((path, result),) = whole_checkpoints(tmp_path)
    assert path == whole
    assert result["frames"] == 30


def test_another_trials_checkpoint_and_a_newer_one_are_refused_before_the_start(
    tmp_path: Path,
) -> None:
    folder = checkpoint(tmp_path / "checkpoint_000002")
    seal(folder, RESULT, method="icm", env=TRIAL.env, env_options={})
    refuse_others(trial(method="icm"), tmp_path)
    (checkpoint(tmp_path / "checkpoint_000003") / SEAL_FILE).write_text("{")  # skipped
    with pytest.raises(SealError, match="000002: method is 'icm', and this trial has 'ride'"):
        refuse_others(TRIAL, tmp_path)

    newer = checkpoint(tmp_path / "checkpoint_000004")
    told = json.loads((newer / SEAL_FILE).read_text())
    (newer / SEAL_FILE).write_text(json.dumps({**told, "format": FORMAT + 1}))
    with pytest.raises(SealError, match=f"000004: format is {FORMAT + 1}, and "):
        refuse_others(trial(method="icm"), tmp_path)
