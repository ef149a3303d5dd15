"""Episodic visit counts N_ep(s), kept beside the environments by whoever steps them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


class EpisodicCounter:
    """Counts, for each of N environments, the visits of each state in its running episode.

    N_ep counts the visit just made, so a first visit returns 1, and an episode's first observation
    is itself a visit:

        counter.reset(started)                 # [N] bool: these have begun a new episode
        counter.visit(keys, started)           # ... and are in their first state
        n_ep = counter.visit(keys)             # [N]: after every step of all of them

    Fragments of an episode need no call: counts go on until `reset`. On the step on which
    an environment only resets itself, `reset` comes before the visit.

    Args:
        num_envs: N.
    """

    def __init__(self, num_envs: int) -> None:
        self._visits: list[dict[int, int]] = [{} for _ in range(num_envs)]

    def reset(self, env_mask: NDArray[np.bool_]) -> None:
        """Forgets the episodes of the environments where `env_mask` [N] is True."""
        for visits, begins in zip(self._visits, env_mask.tolist(), strict=True):
            if begins:
                visits.clear()

    def visit(
        self, keys: NDArray[np.uint64], mask: NDArray[np.bool_] | None = None
    ) -> NDArray[np.int64]:
        """Records one visit in each environment, or each where `mask` is True.

        Args:
            keys: [N], one key a state, such as `hash_observations` makes.
            mask: [N]; elsewhere nothing is recorded and the count returned is 0. None: all.

        Returns:
            N_ep, [N], the visit just made included.
        """
        counts = np.zeros(len(self._visits), dtype=np.int64)
        masked = [True] * len(self._visits) if mask is None else mask.tolist()
        for i, (visits, key, counted) in enumerate(
            zip(self._visits, keys.tolist(), masked, strict=True)
        ):
            if counted:
                counts[i] = visits[key] = visits.get(key, 0) + 1
        return counts


def hash_observations(obs: NDArray) -> NDArray[np.uint64]:
    """A 64-bit key for each of N observations, the same in every process and run.

    Each 8-byte word of an observation is offset by a number of its own and scrambled, the results
    are added up and scrambled again. For states met in an episode, under a million, the chance that
    any two of different content share a key is below 1 in 10^7.

    Args:
        obs: [N, ...], any fixed-size dtype.

    Returns:
        [N].
    """
    num_envs = len(obs)
    rows = np.ascontiguousarray(obs).reshape(num_envs, -1).view(np.uint8)  # [N, bytes]
    num_words = -(-rows.shape[1] // 8)
    padded = np.zeros((num_envs, num_words * 8), dtype=np.uint8)
    padded[:, : rows.shape[1]] = rows
    words = padded.view("<u8")  # [N, words]

    # Without an offset of its own, a word would count the same wherever it stands.
    offsets = scramble(np.arange(1, num_words + 1, dtype=np.uint64))  # [words]
    return scramble(scramble(words + offsets).sum(axis=1, dtype=np.uint64))  # [N]


def scramble(x: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """SplitMix64's step and finaliser: one-to-one on 64 bits, each bit in moves about half out.

    Source: Steele, Lea and Flood, "Fast Splittable Pseudorandom Number Generators", OOPSLA 2014.
    """
    x = x + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))
