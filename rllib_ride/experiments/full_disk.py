"""Recognizes a full disk behind the many errors it causes, and reports it in one message."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ray.tune import Callback

from rllib_ride.experiments.folders import nearest_existing

if TYPE_CHECKING:
    from ray.tune.experiment import Trial as TuneTrial

_CODES = (errno.ENOSPC, errno.EDQUOT)
_TEXTS = tuple(os.strerror(code) for code in _CODES)
_MB = 1e6
_MB_A_TRIAL = 100.0


class DiskFull(Exception):
    """The disk that a run writes to is full; the message says which disk and what to do."""


@contextlib.contextmanager
def told_if_full(folder: Path) -> Iterator[None]:
    """Turns any error inside this context that a full disk has caused into a `DiskFull`.

    Tune passes some errors on only as traceback text inside another error.

    Args:
        folder: The folder that the run writes to.
    """
    try:
        yield
    except Exception as error:
        if not is_full_disk(error):
            raise
        raise DiskFull(_message(folder)) from error


def is_full_disk(error: BaseException | None) -> bool:
    """Whether a full disk or an exhausted quota caused an error."""
    while error is not None:
        if getattr(error, "errno", None) in _CODES or tells_of_full_disk(str(error)):
            return True
        error = error.__cause__ or error.__context__
    return False


def tells_of_full_disk(text: str) -> bool:
    """Whether the text of an error says that a disk is full."""
    return any(told in text for told in _TEXTS)


def warn_of_little_room(folder: Path, num_trials: int) -> None:
    """Warns if less than 100 MB per trial, for its checkpoints and results, are free."""
    free, wanted = _free_mb(folder), num_trials * _MB_A_TRIAL
    if free < wanted:
        print(
            f"{folder}: {free:,.0f} MB are free; {num_trials} trials may need {wanted:,.0f} MB",
            file=sys.stderr,
        )


class FullDiskCallback(Callback):
    """Ends the run when a full disk makes a trial fail: a retry would fail too."""

    def on_trial_recover(
        self, iteration: int, trials: list[TuneTrial], trial: TuneTrial, **info: Any
    ) -> None:
        """Ends the run before the trial is retried."""
        _raise_if_full(trial)

    def on_trial_error(
        self, iteration: int, trials: list[TuneTrial], trial: TuneTrial, **info: Any
    ) -> None:
        """Ends the run before the trial counts as failed."""
        _raise_if_full(trial)


def _raise_if_full(trial: TuneTrial) -> None:
    log = Path(trial.error_file or "")
    # Tune appends each failure to the file; only the latest counts.
    last = log.read_text(encoding="utf-8").rpartition("Failure # ")[2] if log.is_file() else ""
    if tells_of_full_disk(last):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def _message(folder: Path) -> str:
    temporary = Path(os.environ.get("RAY_TMPDIR") or tempfile.gettempdir())
    return (
        f"no space left on the disk: {_free_mb(folder):,.0f} MB are free in {folder}, "
        f"{_free_mb(temporary):,.0f} MB in {temporary}, where Ray keeps files. The run has ended; "
        "make room, then go on"
    )


def _free_mb(folder: Path) -> float:
    return shutil.disk_usage(nearest_existing(folder)).free / _MB
