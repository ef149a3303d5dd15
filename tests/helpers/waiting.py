"""Waits for conditions that other processes bring about."""

from __future__ import annotations

import time
from collections.abc import Callable


def comes_true(condition: Callable[[], bool], seconds: float = 120.0) -> bool:
    """Whether the condition becomes true within `seconds`, enough for a busy machine."""
    until = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > until:
            return False
        time.sleep(0.05)
    return True
