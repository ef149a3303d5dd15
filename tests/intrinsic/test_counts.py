from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter

import numpy as np
import pytest
from numpy.typing import NDArray

from rllib_ride.intrinsic import EpisodicCounter, hash_observations


def keys(*values: int) -> NDArray[np.uint64]:
    return np.array(values, dtype=np.uint64)


def mask(*values: int) -> NDArray[np.bool_]:
    return np.array(values, dtype=bool)


def test_the_nth_visit_counts_n() -> None:
    counter = EpisodicCounter(3)
    n_ep = [counter.visit(keys(1, 2, t)).tolist() for t in range(4)]
    assert n_ep == [[1, 1, 1], [2, 2, 1], [3, 3, 1], [4, 4, 1]]
    factor = 1.0 / np.sqrt(np.array(n_ep)[:, 0])
    np.testing.assert_allclose(factor, [1.0, 0.70710678, 0.57735027, 0.5])


def test_environments_count_apart() -> None:
    counter = EpisodicCounter(3)
    assert counter.visit(keys(7, 7, 7)).tolist() == [1, 1, 1]
    assert counter.visit(keys(7, 8, 7)).tolist() == [2, 1, 2]


def test_reset_forgets_the_chosen_environments_alone() -> None:
    counter = EpisodicCounter(3)
    counter.visit(keys(1, 1, 1))
    counter.reset(mask(0, 1, 0))
    assert counter.visit(keys(1, 1, 1)).tolist() == [2, 1, 2]


def test_the_episode_s_first_observation_is_counted() -> None:
    """Returning to a state is a second visit, in every episode and not only in the first."""
    counter = EpisodicCounter(1)
    for _ in range(2):
        counter.reset(mask(1))
        seen = [int(counter.visit(keys(key))[0]) for key in (5, 6, 5)]
        assert seen == [1, 1, 2]


def test_random_play_counts_like_a_list_of_the_visited() -> None:
    rng = np.random.default_rng(0)
    num_envs, num_steps = 5, 200
    counter = EpisodicCounter(num_envs)
    visited: list[list[int]] = [[] for _ in range(num_envs)]
    for _ in range(num_steps):
        begins = rng.random(num_envs) < 0.05
        states = rng.integers(0, 9, size=num_envs).astype(np.uint64)
        for b in range(num_envs):
            if begins[b]:
                visited[b] = []
            visited[b].append(int(states[b]))
        expected = [visited[b].count(int(states[b])) for b in range(num_envs)]
        counter.reset(begins)
        assert counter.visit(states).tolist() == expected


@pytest.mark.parametrize("length", [2, 4])
def test_a_wrong_number_of_environments_is_refused(length: int) -> None:
    counter = EpisodicCounter(3)
    states, everywhere = np.zeros(length, dtype=np.uint64), np.ones(length, dtype=bool)
    with pytest.raises(ValueError):
        counter.visit(states)
    with pytest.raises(ValueError):
        counter.reset(everywhere)


def test_equal_observations_and_no_others_share_a_key() -> None:
    """Views as in MiniGrid: small numbers, and many views that differ in only one cell."""
    rng = np.random.default_rng(0)
    views = rng.integers(0, 3, size=(2_000, 7, 7, 3), dtype=np.uint8)
    variants = views.repeat(30, axis=0)
    cells = rng.integers(0, 7 * 7 * 3, size=len(variants))
    variants.reshape(len(variants), -1)[np.arange(len(variants)), cells] += 1
    obs = np.concatenate([views, variants, views])

    hashes = hash_observations(obs)
    assert hashes.shape == (len(obs),) and hashes.dtype == np.uint64
    contents = [row.tobytes() for row in obs]
    assert len(set(contents)) > 40_000
    assert len(set(zip(contents, hashes.tolist(), strict=True))) == len(set(contents))
    assert len(set(hashes.tolist())) == len(set(contents))
    assert max(Counter((hashes >> np.uint64(56)).tolist()).values()) < 2 * len(obs) / 256


def test_order_and_place_matter() -> None:
    one, other = np.arange(64, dtype=np.uint8), np.arange(64, dtype=np.uint8)
    one[:8], one[8:16] = other[8:16].copy(), other[:8].copy()  # two words swapped
    last = np.arange(64, dtype=np.uint8)
    last[-1] += 1
    assert len(set(hash_observations(np.stack([one, other, last])).tolist())) == 3


@pytest.mark.parametrize(
    "obs",
    [
        np.arange(6),
        np.linspace(0, 1, 15, dtype=np.float32).reshape(5, 3),
        (np.arange(294) % 251).astype(np.uint8).reshape(7, 7, 3, 2).T,
    ],
    ids=["discrete", "vector", "strided"],
)
def test_any_array_of_observations_has_keys(obs: NDArray) -> None:
    together = hash_observations(obs)
    assert len(set(together.tolist())) == len(obs)
    apart = [int(hash_observations(obs[i : i + 1])[0]) for i in range(len(obs))]
    assert together.tolist() == apart


def test_another_process_makes_the_same_keys() -> None:
    """Python's own hash of bytes differs from process to process."""
    program = (
        "import numpy as np; from rllib_ride.intrinsic import hash_observations;"
        "print(hash_observations(np.arange(294).reshape(2, 7, 7, 3)).tolist())"
    )
    environment = os.environ | {"PYTHONHASHSEED": "1"}
    result = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, env=environment
    )
    obs = np.arange(294).reshape(2, 7, 7, 3)
    assert result.stdout.strip() == str(hash_observations(obs).tolist())
