from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from numpy.typing import NDArray

from rllib_ride.intrinsic.visit_table import VisitTable


def random_keys(n: int, seed: int = 0) -> NDArray[np.int64]:
    """Distinct keys: equal ones are so unlikely that no test with this seed has seen any."""
    return np.random.default_rng(seed).integers(-(2**63), 2**63, size=n)


def test_counts_like_a_dict_in_order_of_visits() -> None:
    """Batches of unequal size, with repeats within a batch, over two doublings of the table."""
    rng = np.random.default_rng(0)
    states = random_keys(120_000)
    table, visits = VisitTable(), Counter[int]()
    for n in (0, 1, 7, 100_000, 3, 150_000, 50_000):
        keys = states[np.minimum(rng.geometric(1e-4, size=n) + rng.integers(0, 9, n), 119_999)]
        keys[::2] = rng.choice(states, size=len(keys[::2]))
        expected = []
        for key in keys.tolist():
            visits[key] += 1
            expected.append(visits[key])
        assert table.visit(keys).tolist() == expected
    assert len(table) == len(visits) > 2**16


def test_signed_and_unsigned_keys_are_one() -> None:
    table = VisitTable()
    keys = random_keys(50)
    assert table.visit(keys).tolist() == [1] * 50
    assert table.visit(keys.view(np.uint64)).tolist() == [2] * 50


def test_keys_that_differ_in_any_one_bit_are_told_apart() -> None:
    keys = np.uint64(1) << np.arange(64, dtype=np.uint64)
    assert VisitTable().visit(np.concatenate([keys, [np.uint64(0)]])).tolist() == [1] * 65


def test_a_batch_may_fill_the_table_many_times_over() -> None:
    table, keys = VisitTable(), random_keys(500_000)
    assert (table.visit(keys) == 1).all()
    assert (table.visit(keys[::-1]) == 2).all()
    assert len(table) == 500_000


def test_a_full_table_takes_no_new_state_and_still_counts_the_old() -> None:
    table = VisitTable(max_slots=2**10)
    keys = random_keys(1_000)
    old, new = keys[:768], keys[768:]  # three quarters of 1,024
    table.visit(old)
    for n in (2, 3):
        assert table.visit(new).tolist() == [1] * len(new)
        assert table.visit(old).tolist() == [n] * len(old)
    assert len(table) == 768


def test_a_count_ends_at_its_most() -> None:
    table, state = VisitTable(), np.array([5])
    table.load(table_of(state, visits=2**23 - 3))
    assert [int(table.visit(state)[0]) for _ in range(4)] == [2**23 - 2] + [2**23 - 1] * 3
    assert table.visit(np.array([6])).tolist() == [1]


def table_of(state: NDArray[np.int64], visits: int) -> NDArray[np.int32]:
    """The entries of a table in which one state was visited `visits` times."""
    table = VisitTable()
    table.visit(state)
    entries = table.entries().copy().view(np.int64)  # ends in a count of 1
    return (entries + visits - 1).view(np.int32)


@pytest.mark.parametrize("max_slots", [2**27, 2**17])
def test_entries_make_another_table_the_same(max_slots: int) -> None:
    table, keys = VisitTable(), random_keys(150_000)
    table.visit(keys)
    table.visit(keys[::3])
    entries = table.entries()
    assert entries.shape == (150_000, 2) and entries.dtype == np.int32

    other = VisitTable(max_slots)
    other.visit(random_keys(9, seed=1))  # what it held before is gone
    other.load(entries)
    assert len(other) == len(table) == 150_000
    keys = np.concatenate([keys, random_keys(9, seed=1)])
    assert np.array_equal(other.visit(keys), table.visit(keys))
    assert other.visit(keys[:1]) == 4


def test_an_empty_table_can_be_saved() -> None:
    table = VisitTable()
    assert table.entries().shape == (0, 2)
    other = VisitTable()
    other.visit(random_keys(5))
    other.load(table.entries())
    assert len(other) == 0 and other.visit(random_keys(5)).tolist() == [1] * 5


def test_a_new_state_is_taken_for_a_seen_one_as_rarely_as_documented() -> None:
    """n / 2^bits with n states in the table. Tests 20 bits; 40 would need 1e8 states to show it."""
    bits, n = 20, 60_000
    table, keys = VisitTable(fingerprint_bits=bits), random_keys(n)
    mistaken = 0
    expected = 0.0
    for first in range(0, n, 1_000):
        expected += 1_000 * len(table) / 2**bits
        mistaken += int((table.visit(keys[first : first + 1_000]) > 1).sum())
    assert expected > 1_500
    assert abs(mistaken - expected) < 5 * expected**0.5
    assert len(table) == n - mistaken


def test_numbers_in_a_row_are_no_worse_than_random_keys() -> None:
    bits, n = 20, 60_000
    mistaken = int((VisitTable(fingerprint_bits=bits).visit(np.arange(n)) > 1).sum())
    expected = n**2 / 2 ** (bits + 1)
    assert abs(mistaken - expected) < 5 * expected**0.5


@pytest.mark.parametrize("num_before", [0, 9, 40_000, 120_000])
def test_visits_taken_back_leave_the_table_as_it_was(num_before: int) -> None:
    """Visits to known and new states, some repeated, with and without a doubling of the table."""
    states = random_keys(120_000)
    before, batch = states[:num_before], np.concatenate([states[5:30_000:3], states[:60_000]])
    table = VisitTable()
    table.visit(before)
    expected = np.sort(table.entries(), axis=0)

    table.visit(batch)
    table.take_back(batch)

    np.testing.assert_array_equal(np.sort(table.entries(), axis=0), expected)
    assert len(table) == num_before
    assert (table.visit(states[:num_before]) == 2).all()


def test_what_a_full_table_had_no_room_for_is_not_taken_back() -> None:
    table = VisitTable(max_slots=2**10)
    keys = random_keys(1_000)
    table.visit(keys[:768])
    table.visit(keys)
    table.take_back(keys)
    assert len(table) == 768
    assert (table.visit(keys[:768]) == 2).all()
