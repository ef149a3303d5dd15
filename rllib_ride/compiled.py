"""Compiles functions with numba, cached on disk if possible."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compiles a function at its first call; caches the result if a directory is writable."""
    try:
        return numba.njit(cache=True)(function)
    except RuntimeError:  # Neither the module's directory nor the user's cache can be written.
        return numba.njit(function)
