"""A full disk: recognized by any of its errors, reported in one message, and recovered from."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from helpers.command import TESTS
from helpers.small_config import SMALL_CONFIG
from rllib_ride.experiments import full_disk
from rllib_ride.experiments.curve import read_curve
from rllib_ride.experiments.full_disk import DiskFull, FullDiskCallback, told_if_full

FULL = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "curve.csv")


def caused(error: Exception) -> Exception:
    try:
        try:
            raise error
        except Exception as cause:
            raise RuntimeError("The Ray Tune run failed") from cause
    except RuntimeError as outer:
        return outer


@pytest.mark.parametrize(
    "error",
    [
        FULL,
        caused(FULL),
        OSError(errno.EDQUOT, "Disk quota exceeded"),
        # Tune's message for an error in a callback; pyarrow's for a checkpoint.
        RuntimeError("Traceback ...\nOSError: [Errno 28] No space left on device: 'x'\n"),
        OSError("Error writing bytes to file. Detail: [errno 28] No space left on device"),
    ],
)
def test_any_error_of_a_full_disk_is_told_in_one_message(tmp_path: Path, error: Exception) -> None:
    with pytest.raises(DiskFull) as told, told_if_full(tmp_path / "runs" / "x"):
        raise error
    assert str(told.value).startswith("no space left on the disk: ")
    assert f"free in {tmp_path / 'runs' / 'x'}" in str(told.value)
    assert len(str(told.value).splitlines()) == 1


def test_other_errors_stay_what_they_are(tmp_path: Path) -> None:
    with pytest.raises(PermissionError), told_if_full(tmp_path):
        raise PermissionError(errno.EACCES, "Permission denied")


def test_a_trial_that_fails_by_a_full_disk_ends_the_run(tmp_path: Path) -> None:
    log = tmp_path / "error.txt"
    trial: Any = SimpleNamespace(error_file=str(log))
    callback = FullDiskCallback()

    log.write_text("Failure # 1\nOSError: No space left on device\n")
    with pytest.raises(OSError, match="No space left"):
        callback.on_trial_recover(0, [], trial)
    log.write_text(log.read_text() + "Failure # 2\nRuntimeError: the door fell off\n")
    callback.on_trial_recover(0, [], trial)  # the full disk was an earlier failure
    trial.error_file = None  # Tune keeps none
    callback.on_trial_error(0, [], trial)


def test_little_room_is_told_before_the_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    usage = SimpleNamespace(free=250e6)
    monkeypatch.setattr(full_disk.shutil, "disk_usage", lambda path: usage)
    full_disk.warn_of_little_room(tmp_path, 2)
    assert capsys.readouterr().err == ""
    full_disk.warn_of_little_room(tmp_path / "new", 3)
    assert "new: 250 MB are free; 3 trials may need 300 MB" in capsys.readouterr().err


# --- a real one: a small tmpfs, in a mount namespace of its own

EXPERIMENT = (
    """
experiment: tiny
env: MiniGrid-Empty-5x5-v0
method: none
preset: tuned
seed: [1, 2]
frames: 6000
checkpoint_every_s: {every}
"""
    + SMALL_CONFIG
    + "  min_time_s_per_iteration: 0.2\n"
)
SESSIONS = """
mount -t tmpfs -o size={size} tmpfs runs || exit 77
{python} -m rllib_ride.cli run tiny.yaml > 1.out 2> 1.err; echo $? > 1.code
cp -r runs full
{python} -m rllib_ride.cli run tiny.yaml --resume > 2.out 2> 2.err; echo $? > 2.code
mount -o remount,size=1g runs
{python} -m rllib_ride.cli run tiny.yaml --resume --json > 3.out 2> 3.err; echo $? > 3.code
cp -r runs after
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("size", "every"),
    [("4m", 1), ("200k", 1000), ("20k", 1000)],
    ids=["in a checkpoint", "in the driver", "at the start"],
)
def test_a_run_on_a_full_disk_ends_in_words_and_goes_on(
    tmp_path: Path, size: str, every: int
) -> None:
    (tmp_path / "runs").mkdir()
    (tmp_path / "tiny.yaml").write_text(EXPERIMENT.format(every=every))
    script = SESSIONS.format(size=size, python=sys.executable)
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", script],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": f"{os.environ.get('PYTHONPATH', '')}:{TESTS}"},
        timeout=600,
    )
    if not (tmp_path / "1.code").exists():
        pytest.skip(f"no mount namespace to be had: {done.returncode}")
    codes = [int((tmp_path / f"{n}.code").read_text()) for n in (1, 2, 3)]
    errors = [(tmp_path / f"{n}.err").read_text() for n in (1, 2, 3)]

    assert codes == [130, 130, 0], errors
    for error in errors[:2]:
        assert "no space left on the disk: 0 MB are free in " in error
        assert "go on with: rllib-ride run tiny.yaml --resume" in error
        assert "Traceback" not in error, error
    rows = json.loads((tmp_path / "3.out").read_text())["trials"]
    assert [row["state"] for row in rows] == ["done", "done"]
    for row in rows:
        curve = read_curve(tmp_path / "after" / "tiny" / row["trial"] / "curve.csv")
        frames = [int(entry["frames"]) for entry in curve]
        assert frames == sorted(set(frames)) and frames[-1] == row["frames"] >= 6000
