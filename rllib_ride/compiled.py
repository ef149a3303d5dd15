"""Compiles by numba, and does without its cache where that has no place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compiles at the first call, and keeps the result on disk where there is a place for it."""
    try:
        return numba.njit(cache=True)(function)
    except RuntimeError:  # Neither the module's directory nor the user's cache can be written.
        return numba.njit(function)
