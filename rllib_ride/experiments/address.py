"""Which Ray to use: a running cluster or a local one. Does not import Ray, for `doctor`."""

from __future__ import annotations

import os


def named_cluster(address: str | None) -> str | None:
    """The cluster that `address`, or else `RAY_ADDRESS`, names; None for a Ray of this process.

    `local` is Ray's own keyword for a Ray of this process.
    """
    named = address or os.environ.get("RAY_ADDRESS") or "local"
    return None if named == "local" else named
