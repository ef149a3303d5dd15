"""Keeps a long run's memory from growing: sets allocators at the start, trims them as it runs."""

from __future__ import annotations

import contextlib
import ctypes
import os
import sys


def keep_memory_steady() -> None:
    """Has this process, and those that Ray starts from it, return memory that they have freed.

    Every ten seconds, Tune copies its state to the storage in a new thread. mimalloc, pyarrow's
    default allocator, keeps what such threads leave behind, 0.4 MB a minute; jemalloc does not.

    Call it before anything imports pyarrow, as `ray.tune` does. The user's own setting wins.
    """
    if sys.platform == "linux":  # elsewhere pyarrow may lack jemalloc, and warns
        os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "jemalloc")


def give_back_memory() -> None:
    """Returns glibc's free pages between used ones to the system; takes milliseconds.

    Call it after a checkpoint, which leaves the most such pages.
    """
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):  # other C libraries have no malloc_trim
            ctypes.CDLL("libc.so.6").malloc_trim(0)
