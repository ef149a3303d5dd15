"""The memory of a process and all that it started."""

from __future__ import annotations

import re
import threading
from pathlib import Path
from typing import Self

import ray  # noqa: F401  (comes with a psutil of its own, which it makes importable)

import psutil  # type: ignore[import-untyped]  # isort: skip

_EVERY_S = 1.0


class PeakMemory:
    """Watches this process and its children, and theirs, from a thread; a context manager.

    The object store is left out: it is shared memory (`RssShmem` in Linux's `/proc`), which counts
    in each process that has it mapped. Where there is no `/proc` it is not left out.

    Attributes:
        peak_mb: The largest sum of resident memory seen so far, in MiB.
    """

    def __init__(self) -> None:
        self.peak_mb = 0.0
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._ended.set()
        self._thread.join()

    def _watch(self) -> None:
        while True:
            self.peak_mb = max(self.peak_mb, resident_mb(psutil.Process()))
            if self._ended.wait(_EVERY_S):
                return


def resident_mb(root: psutil.Process) -> float:
    """Resident memory of a process and its descendants, shared memory left out, in MiB."""
    total = 0
    for process in [root, *root.children(recursive=True)]:
        try:
            total += process.memory_info().rss - _shared_memory(process.pid)
        except (psutil.Error, OSError):  # it has ended meanwhile
            continue
    return total / 2**20


def _shared_memory(pid: int) -> int:
    """Bytes of shared memory that a process has resident; 0 where the system does not tell."""
    status = Path("/proc") / str(pid) / "status"
    found = re.search(r"RssShmem:\s+(\d+) kB", status.read_text()) if status.exists() else None
    return int(found[1]) * 1024 if found else 0


def process_started_at() -> float:
    """When this process was started, in seconds since the epoch."""
    return float(psutil.Process().create_time())
