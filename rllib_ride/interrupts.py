"""Ctrl-C and SIGTERM until training takes them over: raised, and noted lest they be swallowed."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM)

_came = False


def interrupt(signum: int, frame: FrameType | None) -> None:
    """A signal's handler: raises KeyboardInterrupt."""
    global _came
    _came = True
    raise KeyboardInterrupt


def raise_swallowed() -> None:
    """Raises KeyboardInterrupt again where one ended nothing.

    It is raised wherever Python happens to be, and a module that tries an import, a finalizer or a
    callback from C may drop it.
    """
    if _came:
        raise KeyboardInterrupt


@contextlib.contextmanager
def handlers_kept() -> Iterator[None]:
    """Gives back the handlers of both signals as they were, and forgets those that came."""
    global _came
    if not is_main_thread():  # where Python lets no handler be set
        yield
        return
    before = {signum: signal.getsignal(signum) for signum in SIGNALS}
    try:
        yield
    finally:
        _came = False
        for signum, handler in before.items():
            signal.signal(signum, handler)


def raise_on(*signums: int) -> None:
    """Has these signals raise KeyboardInterrupt, Ctrl-C only where it is not ignored."""
    for signum in signums if is_main_thread() else ():
        if signal.getsignal(signum) is not signal.SIG_IGN or signum == signal.SIGTERM:
            signal.signal(signum, interrupt)


def is_main_thread() -> bool:
    """Whether this is the thread that may set handlers."""
    return threading.current_thread() is threading.main_thread()
