"""Watches the head of a Ray cluster: without it a run can neither continue nor end cleanly."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator

from rllib_ride.experiments.connect import knock

_EVERY_S = 5.0
_ANSWERS_WITHIN_S = 5.0
_LOST_AFTER_S = 40.0  # after 60 s Ray ends the process itself, with only a line in its log


@contextlib.contextmanager
def watched_head(address: str, on_lost: Callable[[str], None]) -> Iterator[None]:
    """Reports a lost head, from a thread because the main thread may wait for the head forever.

    Args:
        address: `HOST:PORT` of the head's GCS.
        on_lost: Called with a one-line message when nothing has answered there for 40 s.
    """
    done = threading.Event()
    threading.Thread(target=_watch, args=(address, on_lost, done), daemon=True).start()
    try:
        yield
    finally:
        done.set()


def _watch(address: str, on_lost: Callable[[str], None], done: threading.Event) -> None:
    answered_at = time.monotonic()
    while not done.wait(_EVERY_S):
        now = time.monotonic()
        if _answers(address):
            answered_at = now
        elif now - answered_at >= _LOST_AFTER_S:
            on_lost(
                f"{address}: the head of the Ray cluster has not answered for "
                f"{now - answered_at:.0f} s, and a run cannot go on without it. Start the cluster "
                "again, then go on"
            )
            return


def _answers(address: str) -> bool:
    try:
        knock(address, _ANSWERS_WITHIN_S)
    except OSError:
        return False
    return True
