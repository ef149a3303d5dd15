"""One run at a time in an experiment's folder: two would write over each other's checkpoints."""

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
    """Holds an experiment's folder for this process, from any other on this and other machines.

    The operating system's lock ends with the process, so that a killed run leaves none behind. The
    folder is made if it is missing, and removed again if nothing has come into it.

    Raises:
        ConfigError: another run holds it; says which.
    """
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    file = _locked(folder / LOCK_FILE)
    try:
        yield
    finally:
        Path(file.name).unlink(missing_ok=True)  # first: it may be another's once it is closed
        file.close()
        with contextlib.suppress(OSError):  # not empty
            for path in missing:
                path.rmdir()


def holds_files(folder: Path) -> bool:
    """Whether there is anything in a folder but the lock, and files that were never finished."""
    return folder.exists() and any(
        path.name != LOCK_FILE and path.suffix != ".part" for path in folder.iterdir()
    )


def _locked(path: Path) -> IO[str]:
    """The file, locked, with a line in it that says by whom."""
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
        file.close()  # of a run that has just ended, and removed it
    since = time.strftime("%Y-%m-%d %H:%M:%S %Z")
    holder = f"process {os.getpid()} on {socket.gethostname()}, since {since}\n"
    file.truncate(0)
    with contextlib.suppress(OSError):  # a full disk; the lock holds without it
        os.write(file.fileno(), holder.encode())
    return file
