"""Keeps a long run from growing: what allocators are told as it starts, and once a minute."""

from __future__ import annotations

import contextlib
import ctypes
import os
import sys


def keep_memory_steady() -> None:
    """Has this process, and those that Ray starts from it, give back memory they have freed.

    Tune copies its state to the storage every ten seconds by a thread of its own. mimalloc,
    pyarrow's default, keeps what such threads leave behind, 0.4 MB a minute; jemalloc does not.

    Call it before anything imports pyarrow, as `ray.tune` does. What the user has set stays.
    """
    if sys.platform == "linux":  # elsewhere pyarrow may come without jemalloc, and says so
        os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "jemalloc")


def give_back_memory() -> None:
    """Gives the system the pages that glibc has free between those in use; takes milliseconds.

    A checkpoint leaves the most of them behind: call it then.
    """
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):  # other C libraries have none
            ctypes.CDLL("libc.so.6").malloc_trim(0)
