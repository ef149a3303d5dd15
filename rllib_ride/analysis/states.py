"""Determines the state of a run from the files in its folder."""

from __future__ import annotations

import json
import os
import time
from enum import StrEnum
from pathlib import Path

from rllib_ride.run_files import CURVE_FILE

_RESULTS = "result.json"
# Longer than any iteration: a run that has written nothing for so long is not running any more.
_SILENT_S = 300.0
# A line of Tune's results has about ten thousand characters.
_LAST_LINE_BYTES = 1 << 18


class State(StrEnum):
    """State of a run."""

    DONE = "done"
    RUNNING = "running"
    STOPPED = "stopped early"
    FAILED = "failed"
    NO_REPORT = "no report yet"
    UNKNOWN = "unknown"


def state_of(
    folder: Path, frames: float, frames_asked: int | None, *, ended: bool = False
) -> State:
    """Determines the state of the run in `folder`.

    Tune keeps `error.txt` when a failed run is resumed, so a run whose curve is newer than that
    file was resumed.

    Args:
        folder: The trial's folder.
        frames: Frames it has reached.
        frames_asked: Frames after which it ends; None if its record has none.
        ended: Whether its record says that it has ended, for its return or by ASHA.
    """
    if ended or (frames_asked is not None and frames >= frames_asked):
        return State.DONE
    reported = _modified(folder / CURVE_FILE)
    if (folder / "error.txt").exists() and _modified(folder / "error.txt") >= reported:
        return State.FAILED
    if frames == 0:
        return State.NO_REPORT
    # A fresh copy of the curve, as in a new clone, is recent too, but has no files of Tune.
    if (folder / _RESULTS).exists() and time.time() - reported < _SILENT_S:
        return State.RUNNING
    return State.UNKNOWN if frames_asked is None else State.STOPPED


def was_resumed(folder: Path) -> bool:
    """Whether the run was resumed from a checkpoint, according to Tune's last result.

    Also False if only `curve.csv` and `run.json` were kept. Then the record shows it, but only for
    a run resumed with different code.
    """
    try:
        result = _last_line(folder / _RESULTS)
        counts = json.loads(result)
        return int(counts["iterations_since_restore"]) < int(counts["training_iteration"])
    except (OSError, OverflowError, RecursionError, ValueError, KeyError, TypeError):
        return False


def _modified(path: Path) -> float:
    return path.stat().st_mtime if path.exists() else 0.0


def _last_line(path: Path) -> bytes:
    """The last complete line of a file that may be large and still growing."""
    if not path.is_file():
        return b""
    with path.open("rb") as file:
        file.seek(max(file.seek(0, os.SEEK_END) - _LAST_LINE_BYTES, 0))
        lines = file.read().split(b"\n")
    return lines[-2] if len(lines) > 1 else b""
