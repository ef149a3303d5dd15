"""What allocators are told, so that a long run does not grow."""

from __future__ import annotations

import os
import sys


def keep_memory_steady() -> None:
    """Has this process, and those that Ray starts from it, give back memory they have freed.

    Tune copies its state to the storage every ten seconds by a thread of its own. mimalloc,
    pyarrow's default, keeps what such threads leave behind, 0.4 MB a minute; jemalloc does not.
    glibc gives each thread an arena, and the dozens of threads of a trial need but two.

    Call it before anything imports pyarrow, as `ray.tune` does. What the user has set stays.
    """
    if sys.platform == "linux":  # elsewhere pyarrow may come without jemalloc, and says so
        os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "jemalloc")
        os.environ.setdefault("MALLOC_ARENA_MAX", "2")
