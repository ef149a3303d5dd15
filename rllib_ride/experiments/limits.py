"""The largest numbers that an experiment may have: what is beyond is a slip, and would cost memory.

Each is far above what anyone trains with, and is met before anything of that size is made.
"""

MOST_FRAMES = 10**15
"""Of a trial: thirty years at a million a second."""

MOST_SEED = 2**31 - 1
"""NumPy takes seeds of 32 bits, and RLlib adds a runner's number to it."""

MOST_TRIALS = 10_000
"""Of an experiment: each one's config is built beforehand, and Tune writes down all their states
again and again."""

MOST_PROCESSES = 10_000
"""Of one kind in a trial, and nodes of a cluster: Ray is asked for a list of as many bundles."""
