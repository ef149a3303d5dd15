"""Ctrl-C and SIGTERM until training takes them over: raised, and noted lest they be swallowed."""

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
    """A signal's handler: raises KeyboardInterrupt, or leaves it to the end of `held_back`."""
    global _came
    later = _held and not _came
    _came = True
    if not later:
        raise KeyboardInterrupt


@contextlib.contextmanager
def held_back() -> Iterator[None]:
    """Has a first signal wait for its end; a second one does not.

    For what crashes the process where it is broken off, as the C++ of Ray's start does.
    """
    global _held
    _held = True
    try:
        yield
    finally:
        _held = False
    raise_swallowed()


def raise_swallowed() -> None:
    """Raises KeyboardInterrupt again where one ended nothing.

    It is raised wherever Python happens to be, and a module that tries an import, a finalizer or a
    callback from C drops it.
    """
    if _came:
        raise KeyboardInterrupt


@contextlib.contextmanager
def interrupts_raised() -> Iterator[None]:
    """Has both signals raise KeyboardInterrupt, Ctrl-C only where it is not ignored.

    One that was swallowed before is raised at once. Afterwards the handlers are as they were, and
    what came is forgotten. Where Python drops an exception it prints its traceback; not that of an
    interrupt meanwhile.
    """
    global _came
    if not is_main_thread():  # where Python lets no handler be set
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
    """Whether this is the thread that may set handlers."""
    return threading.current_thread() is threading.main_thread()
