"""Upper bounds on an experiment's numbers: larger ones are typos that would exhaust memory.

Each is far above what anyone trains with, and is checked before anything of that size is allocated.
"""

MOST_FRAMES = 10**15
"""Frames per trial: thirty years at a million per second."""

MOST_SEED = 2**31 - 1
"""NumPy takes 32-bit seeds, and RLlib adds the EnvRunner's index to the seed."""

MOST_TRIALS = 10_000
"""Trials per experiment: each one's config is built beforehand, and Tune saves the state of all
again and again."""

MOST_PROCESSES = 10_000
"""Processes of one kind in a trial, and nodes of a cluster: the request to Ray lists a bundle for
each."""
