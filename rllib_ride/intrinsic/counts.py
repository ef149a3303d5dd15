"""Episodic visit counts N_ep(s), kept by the code that steps the environments."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


class EpisodicCounter:
    """Counts the visits to each state in the current episode of each of N environments.

    A count includes the current visit, so a first visit returns 1. An episode's first observation
    is a visit too:

        counter.reset(begins)       # [N] bool: where the state is the first of an episode
        n_ep = counter.visit(keys)  # [N]

    Counts continue across rollout fragments, until `reset`.

    Args:
        num_envs: N.
    """

    def __init__(self, num_envs: int) -> None:
        self._visits: list[dict[int, int]] = [{} for _ in range(num_envs)]

    def reset(self, env_mask: NDArray[np.bool_]) -> None:
        """Clears the counts of the environments where `env_mask` [N] is True."""
        for visits, begins in zip(self._visits, env_mask.tolist(), strict=True):
            if begins:
                visits.clear()

    def visit(self, keys: NDArray[np.uint64]) -> NDArray[np.int64]:
        """Records one visit in each environment.

        Args:
            keys: [N], the state's key in each environment, such as from `hash_observations`.

        Returns:
            N_ep, [N], including this visit.
        """
        counts = np.empty(len(self._visits), dtype=np.int64)
        for i, (visits, key) in enumerate(zip(self._visits, keys.tolist(), strict=True)):
            counts[i] = visits[key] = visits.get(key, 0) + 1
        return counts


def hash_observations(obs: NDArray) -> NDArray[np.uint64]:
    """Hashes each of N observations to a 64-bit key that is equal in every process and run.

    Adds a position-dependent offset to each 8-byte word of an observation, scrambles the words,
    sums them and scrambles the sum. Among the states of an episode, fewer than a million, the
    probability that any two different ones share a key is below 1e-7.

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

    # Without the offsets, the key would not depend on the order of the words.
    offsets = scramble(np.arange(1, num_words + 1, dtype=np.uint64))  # [words]
    return scramble(scramble(words + offsets).sum(axis=1, dtype=np.uint64))  # [N]


def scramble(x: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """SplitMix64's step and finaliser: a 64-bit bijection with good mixing.

    Flipping one input bit flips about half of the output bits.

    Source: Steele, Lea and Flood, "Fast Splittable Pseudorandom Number Generators", OOPSLA 2014.
    """
    x = x + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))
