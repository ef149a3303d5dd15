"""Runs `rllib-ride` as a user does, in its own process and process group."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from helpers.waiting import comes_true

TESTS = Path(__file__).parents[1]


def start(*args: str, folder: Path) -> subprocess.Popen[str]:
    """Starts the command in `folder`; modules below tests/ can be imported by its processes."""
    paths = [str(TESTS), os.environ.get("PYTHONPATH", "")]
    return subprocess.Popen(
        [sys.executable, "-m", "rllib_ride.cli", *args],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def command(*args: str, folder: Path) -> tuple[int, str, str]:
    """Exit code, stdout and stderr of the command, run to its end."""
    process = start(*args, folder=folder)
    out, err = process.communicate(timeout=180)
    return process.returncode, out, err


def wait_for(condition: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    """Waits until `condition()` holds; fails if the process ends before that."""

    def holds() -> bool:
        held = condition()
        assert held or process.poll() is None, process.communicate()
        return held

    assert comes_true(holds), "nothing happened for two minutes"
