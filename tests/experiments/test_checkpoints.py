"""Whole checkpoints and half ones."""

from __future__ import annotations

import math
import shutil
from pathlib import Path

import numpy as np
import pytest

from rllib_ride.experiments.checkpoints import SEAL_FILE, result_of, seal, whole_checkpoints

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
