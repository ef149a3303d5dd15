"""Waiting for what others do, at their own pace."""

from __future__ import annotations

import time
from collections.abc import Callable


def comes_true(condition: Callable[[], bool], seconds: float = 120.0) -> bool:
    """Whether it does within a time that a busy machine may need."""
    until = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > until:
            return False
        time.sleep(0.05)
    return True
