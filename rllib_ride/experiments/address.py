"""Which Ray is meant: one that runs, or one of this process alone. Without Ray, for `doctor`."""

from __future__ import annotations

import os


def named_cluster(address: str | None) -> str | None:
    """What names a cluster, `address` or else `RAY_ADDRESS`; None for a Ray of this process alone.

    `local` is Ray's own word for that.
    """
    named = address or os.environ.get("RAY_ADDRESS") or "local"
    return None if named == "local" else named
