"""The memory of a process and all its descendants."""

from __future__ import annotations

import re
import threading
from pathlib import Path
from typing import Self

import ray  # noqa: F401  (makes its bundled psutil importable)

import psutil  # type: ignore[import-untyped]  # isort: skip

_EVERY_S = 1.0


class PeakMemory:
    """Context manager whose thread tracks the memory of this process and all its descendants.

    It leaves out the object store: shared memory (`RssShmem` in Linux's `/proc`), which counts in
    each process that has it mapped. On a system without `/proc`, the object store is included.

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
    """Resident memory of a process and its descendants without shared memory, in MiB."""
    total = 0
    for process in [root, *root.children(recursive=True)]:
        try:
            total += process.memory_info().rss - _shared_memory(process.pid)
        except (psutil.Error, OSError):  # the process has ended
            continue
    return total / 2**20


def _shared_memory(pid: int) -> int:
    """Resident shared memory of a process, in bytes; 0 if the system does not report it."""
    status = Path("/proc") / str(pid) / "status"
    found = re.search(r"RssShmem:\s+(\d+) kB", status.read_text()) if status.exists() else None
    return int(found[1]) * 1024 if found else 0


def process_started_at() -> float:
    """When this process was started, in seconds since the epoch."""
    return float(psutil.Process().create_time())
