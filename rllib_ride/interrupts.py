"""Handles Ctrl-C and SIGTERM until training takes over: raises them, and raises swallowed ones.

A KeyboardInterrupt may be swallowed by other code, so a received signal is also remembered.
"""

from __future__ import annotations

import contextlib
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

SIGNALS = (signal.SIGINT, signal.SIGTERM)

_came = False
_held = False


def interrupt(signum: int, frame: FrameType | None) -> None:
    """Signal handler: raises KeyboardInterrupt, or defers it to the end of `held_back`."""
    global _came
    later = _held and not _came
    _came = True
    if not later:
        raise KeyboardInterrupt


@contextlib.contextmanager
def held_back() -> Iterator[None]:
    """Defers a first signal to the end of the block; a second one raises at once.

    For code that crashes the process when interrupted, such as Ray's startup and shutdown.
    """
    global _held
    _held = True
    try:
        yield
    finally:
        _held = False
    raise_swallowed()


def raise_swallowed() -> None:
    """Raises KeyboardInterrupt again if an earlier one was swallowed.

    The handler raises wherever Python happens to be. A guarded import in some module, a finalizer
    or a callback from C may swallow the exception.
    """
    if _came:
        raise KeyboardInterrupt


@contextlib.contextmanager
def interrupts_raised() -> Iterator[None]:
    """Makes SIGTERM, and SIGINT unless it is ignored, raise KeyboardInterrupt in the block.

    An interrupt that was swallowed before is raised on entry. On exit the previous handlers are
    restored and received signals are forgotten. In the block, Python prints no traceback for a
    KeyboardInterrupt that it drops (`sys.unraisablehook`).
    """
    global _came
    if not is_main_thread():  # Python sets handlers only there
        yield
        return
    before = {signum: signal.getsignal(signum) for signum in SIGNALS}
    hook, sys.unraisablehook = sys.unraisablehook, _tell_no_interrupt(sys.unraisablehook)
    try:
        signal.signal(signal.SIGTERM, interrupt)
        if before[signal.SIGINT] is not signal.SIG_IGN:
            signal.signal(signal.SIGINT, interrupt)
        raise_swallowed()
        yield
    finally:
        _came = False
        sys.unraisablehook = hook
        for signum, handler in before.items():
            signal.signal(signum, handler)


def _tell_no_interrupt(tell: Callable[[Any], Any]) -> Callable[[Any], None]:
    def hook(dropped: Any) -> None:
        if not issubclass(dropped.exc_type, KeyboardInterrupt):
            tell(dropped)

    return hook


def is_main_thread() -> bool:
    """Whether this is the main thread, the only one that may set signal handlers."""
    return threading.current_thread() is threading.main_thread()
