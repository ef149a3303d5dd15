"""Keys per second and memory of the table of the method "count", with distinct keys only.

    python benchmarks/visit_table.py                        # 1e8 frames, the worst case

The peak RSS is the whole process's and includes growing the table. It is measured again with the
copy that a checkpoint takes. What Python, torch and numba hold before the first key is printed
separately.
"""

from __future__ import annotations

import argparse
import resource
import time

import numpy as np

from rllib_ride.intrinsic.visit_table import VisitTable

BATCH = 100_000


def peak_rss_mb() -> float:
    """The peak memory of this process so far (Linux counts in KiB)."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    """Prints the measurements."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--keys", type=float, default=1e8)
    options = parser.parse_args()

    table = VisitTable()
    table.visit(np.arange(2))  # compiles
    table = VisitTable()
    before, repeated, start = peak_rss_mb(), 0, time.perf_counter()
    for first in range(0, int(options.keys), BATCH):
        counts = table.visit(np.arange(first, min(first + BATCH, int(options.keys))))
        repeated += int((counts > 1).sum())
    seconds = time.perf_counter() - start
    print(f"distinct keys            {options.keys:14,.0f}")
    print(f"keys/s                   {options.keys / seconds:14,.0f}")
    print(f"peak RSS before, MB      {before:14,.0f}")
    print(f"peak RSS, MB             {peak_rss_mb():14,.0f}")
    print(f"taken for a seen state   {repeated:14,}")

    start = time.perf_counter()
    entries = table.entries()
    print(f"checkpoint, MB           {entries.nbytes / 2**20:14,.0f}")
    print(f"to copy it, s            {time.perf_counter() - start:14.1f}")
    print(f"peak RSS with it, MB     {peak_rss_mb():14,.0f}")


if __name__ == "__main__":
    main()
