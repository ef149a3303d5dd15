"""Allows one run at a time per experiment folder: two would overwrite each other's checkpoints."""

from __future__ import annotations

import contextlib
import fcntl
import os
import socket
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from rllib_ride.experiments.errors import ConfigError

LOCK_FILE = "run.lock"


@contextlib.contextmanager
def sole_run(folder: Path) -> Iterator[None]:
    """Locks an experiment's folder against other processes, on this and on other machines.

    The operating system releases the lock when the process ends, so a killed run leaves none
    behind. The folder is created if it is missing, and removed again if it stays empty.

    Raises:
        ConfigError: Another run holds the lock; says which.
    """
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    file = _locked(folder / LOCK_FILE)
    try:
        yield
    finally:
        Path(file.name).unlink(missing_ok=True)  # first: once closed, another run may hold it
        file.close()
        with contextlib.suppress(OSError):  # not empty
            for path in missing:
                path.rmdir()


def holds_files(folder: Path) -> bool:
    """Whether a folder holds anything but the lock and unfinished files (`.part`)."""
    return folder.exists() and any(
        path.name != LOCK_FILE and path.suffix != ".part" for path in folder.iterdir()
    )


def _locked(path: Path) -> IO[str]:
    """Opens and locks the file, and writes a line into it that says who holds it."""
    while True:
        file = path.open("a+", encoding="utf-8")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            holder = file.read().strip() or "another process"
            file.close()
            raise ConfigError(
                f"{path.parent} is in use by a run that goes on: {holder}. Wait until it ends, or "
                "end it with Ctrl-C; beside it, take another folder with --storage or another "
                "'experiment' name"
            ) from None
        except OSError as error:
            print(
                f"{path.parent} cannot be locked ({error.strerror}): see to it yourself that no "
                "second run is started in it",
                file=sys.stderr,
            )
        if path.exists() and os.path.samestat(os.fstat(file.fileno()), path.stat()):
            break
        file.close()  # a run that has just ended has removed this file: open it again
    since = time.strftime("%Y-%m-%d %H:%M:%S %Z")
    holder = f"process {os.getpid()} on {socket.gethostname()}, since {since}\n"
    file.truncate(0)
    with contextlib.suppress(OSError):  # a full disk; the lock holds without it
        os.write(file.fileno(), holder.encode())
    return file
