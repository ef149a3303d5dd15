"""One run at a time per folder: the error names the holder, and a killed run holds nothing."""

from __future__ import annotations

import errno
import fcntl
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from helpers.command import command, start, wait_for
from helpers.small_config import SMALL_CONFIG
from rllib_ride.experiments.errors import ConfigError
from rllib_ride.experiments.sole_run import LOCK_FILE, holds_files, sole_run

HOLDS = """
import sys, time
from pathlib import Path
from rllib_ride.experiments.sole_run import sole_run
with sole_run(Path(sys.argv[1])):
    print("holds", flush=True)
    time.sleep(60)
"""
EXPERIMENT = (
    """
experiment: {name}
env: MiniGrid-Empty-5x5-v0
method: none
preset: tuned
seed: 1
frames: 1e9
"""
    + SMALL_CONFIG
)


def names(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def test_a_second_run_is_told_who_holds_the_folder(tmp_path: Path) -> None:
    with sole_run(tmp_path / "x"):
        with pytest.raises(ConfigError) as error, sole_run(tmp_path / "x"):
            pass
        assert f"{tmp_path / 'x'} is in use" in str(error.value)
        assert f"process {os.getpid()} on {os.uname().nodename}, since 20" in str(error.value)
        with sole_run(tmp_path / "another"):
            pass


def test_what_a_run_that_writes_nothing_has_made_is_removed(tmp_path: Path) -> None:
    with pytest.raises(KeyError), sole_run(tmp_path / "runs" / "x"):
        assert names(tmp_path) == ["runs", "runs/x", f"runs/x/{LOCK_FILE}"]
        assert not holds_files(tmp_path / "runs" / "x")
        raise KeyError
    assert names(tmp_path) == []

    with sole_run(tmp_path / "runs" / "x"):
        (tmp_path / "runs" / "x" / "trials.json").touch()
        assert holds_files(tmp_path / "runs" / "x")
    assert names(tmp_path) == ["runs", "runs/x", "runs/x/trials.json"]


def test_a_killed_run_holds_nothing(tmp_path: Path) -> None:
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDS, str(tmp_path)], stdout=subprocess.PIPE, text=True
    )
    assert holder.stdout is not None and holder.stdout.readline() == "holds\n"
    with pytest.raises(ConfigError, match=f"process {holder.pid} on"), sole_run(tmp_path):
        pass

    holder.kill()
    holder.communicate()

    assert names(tmp_path) == [LOCK_FILE]
    assert not holds_files(tmp_path)
    with sole_run(tmp_path):
        assert (tmp_path / LOCK_FILE).read_text().startswith(f"process {os.getpid()} ")


def test_a_lock_file_that_is_removed_meanwhile_is_no_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    times = 0

    def flock(file: Any, operation: int) -> None:
        nonlocal times
        times += 1
        if times == 1:  # the run that held it ends between our open and our lock
            (tmp_path / LOCK_FILE).unlink()

    monkeypatch.setattr(fcntl, "flock", flock)
    with sole_run(tmp_path):
        assert times == 2
        assert (tmp_path / LOCK_FILE).exists()


def test_a_file_system_without_locks_is_told_and_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def flock(file: Any, operation: int) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", flock)
    with sole_run(tmp_path):
        pass
    assert f"{tmp_path} cannot be locked (No locks available)" in capsys.readouterr().err


def test_the_command_refuses_a_folder_in_use_and_writes_nothing(tmp_path: Path) -> None:
    (tmp_path / "one.yaml").write_text(EXPERIMENT.format(name="x"))
    first = start("run", "one.yaml", folder=tmp_path)
    try:
        wait_for((tmp_path / "runs" / "x" / "trials.json").exists, first)
        for resume in ([], ["--resume"]):
            code, out, err = command("run", "one.yaml", *resume, folder=tmp_path)
            assert (code, out) == (2, "")
            assert err.startswith(f"{tmp_path / 'runs' / 'x'} is in use by a run that goes on: ")
            assert f"process {first.pid} on" in err
            assert len(err.splitlines()) == 1
        # The refused runs have not removed the lock.
        assert (tmp_path / "runs" / "x" / LOCK_FILE).exists()
    finally:
        first.send_signal(signal.SIGTERM)
        first.communicate(timeout=120)
    assert not (tmp_path / "runs" / "x" / LOCK_FILE).exists()
