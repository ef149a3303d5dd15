"""A hash table that counts the visits to each state over all of training, in 8 bytes a slot."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rllib_ride.compiled import compiled
from rllib_ride.intrinsic.counts import scramble

# A slot is an int64, fingerprint * 2^23 + count; 0 is an empty slot. Signed, because numba, like
# NumPy, promotes a mix of signed and unsigned 64-bit integers to float.
_COUNT_BITS = 23
_MAX_COUNT = 2**_COUNT_BITS - 1

_FEWEST_SLOTS = 2**16
_MOST_SLOTS = 2**27


class VisitTable:
    """Counts visits to states by their keys, in a hash table with open addressing.

    A state is identified by a fingerprint, `fingerprint_bits` of its scrambled key. With n states
    in the table, a new one is mistaken for one of them with probability n / 2^fingerprint_bits:
    1 in 11,000 at 1e8 states. The fingerprint determines the slot, so the table can grow without
    the keys: it doubles when three quarters full. At `max_slots` (by default 1 GiB, room for 1e8
    states) it stops growing. Further states are not entered, and each visit to them counts as the
    first.

    Counts saturate at 8,388,607.

    Args:
        max_slots: a power of two, the size up to which the table grows.
        fingerprint_bits: from log2 of `max_slots` to 40.
    """

    def __init__(self, max_slots: int = _MOST_SLOTS, fingerprint_bits: int = 40) -> None:
        self._max_slots = max_slots
        self._fingerprint_bits = fingerprint_bits
        self._slots = np.zeros(min(_FEWEST_SLOTS, max_slots), dtype=np.int64)
        self._num_states = 0

    def __len__(self) -> int:
        """The number of states in the table."""
        return self._num_states

    def visit(self, keys: NDArray[np.integer]) -> NDArray[np.int64]:
        """Records one visit to each state, in order.

        Args:
            keys: [n], a 64-bit integer per state, such as from `hash_observations`.

        Returns:
            The number of visits to each so far, including this one, [n].
        """
        fingerprints = self._fingerprints(keys)
        counts = np.ones(len(keys), dtype=np.int64)
        done = 0
        while True:
            is_largest = len(self._slots) >= self._max_slots
            room = _room(len(self._slots)) - self._num_states
            done, added = _visit(self._slots, fingerprints, counts, done, room, is_largest)
            self._num_states += added
            if done == len(keys):
                return counts
            self._resize(2 * len(self._slots), self._slots)

    def take_back(self, keys: NDArray[np.integer]) -> None:
        """Undoes one visit to each state; removes states that have no visits left.

        Args:
            keys: [n], as passed to `visit`. States that a full table had no room for are skipped.
        """
        self._num_states = _unvisit(self._slots, self._fingerprints(keys))
        # The slots emptied would end searches for other states too early: re-enter all states.
        self._resize(len(self._slots), self._slots)

    def entries(self) -> NDArray[np.int32]:
        """The table's contents to save, [len(self), 2]; `load` reads them.

        Each int64 is split into two int32, because RLlib casts int64 in a module's state to int32.
        """
        return _occupied(self._slots).view(np.int32).reshape(-1, 2)

    def load(self, entries: NDArray[np.int32]) -> None:
        """Replaces the contents by the `entries` of a table with the same `fingerprint_bits`."""
        states = np.ascontiguousarray(entries, dtype=np.int32).view(np.int64)[:, 0]
        num_slots = min(_FEWEST_SLOTS, self._max_slots)
        while _room(num_slots) < len(states):
            num_slots *= 2
        self._resize(num_slots, states)
        self._num_states = len(states)

    def _fingerprints(self, keys: NDArray[np.integer]) -> NDArray[np.int64]:
        """The fingerprints that identify the states, [n]."""
        scrambled = scramble(keys.astype(np.uint64))
        return (scrambled >> np.uint64(64 - self._fingerprint_bits)).astype(np.int64)

    def _resize(self, num_slots: int, states: NDArray[np.int64]) -> None:
        slots = np.zeros(num_slots, dtype=np.int64)
        _enter(slots, states)
        self._slots = slots


def _room(num_slots: int) -> int:
    """How many states a table may hold; with more, searches in it get long."""
    return num_slots * 3 // 4


@compiled
def _visit(
    slots: NDArray[np.int64],
    fingerprints: NDArray[np.int64],
    counts: NDArray[np.int64],
    start: int,
    room: int,
    is_largest: bool,
) -> tuple[int, int]:
    """Records visits from index `start` to the end, or to a new state that finds no room.

    Updates `slots`, and sets `counts` for the states that were already in the table.

    Returns:
        The index at which it stopped, and the number of states added.
    """
    added = 0
    for i in range(start, len(fingerprints)):
        slot = _find(slots, fingerprints[i])
        if slots[slot] == 0:
            if added < room:
                slots[slot] = (fingerprints[i] << _COUNT_BITS) + 1
                added += 1
            elif not is_largest:
                return i, added
        else:
            if slots[slot] & _MAX_COUNT < _MAX_COUNT:
                slots[slot] += 1
            counts[i] = slots[slot] & _MAX_COUNT
    return len(fingerprints), added


@compiled
def _unvisit(slots: NDArray[np.int64], fingerprints: NDArray[np.int64]) -> int:
    """Subtracts one visit from each state, and empties the slots of states without visits.

    Returns:
        The number of states left.
    """
    for fingerprint in fingerprints:
        slot = _find(slots, fingerprint)
        if slots[slot] & _MAX_COUNT > 0:
            slots[slot] -= 1
    num_states = 0
    for i in range(len(slots)):
        if slots[i] & _MAX_COUNT > 0:
            num_states += 1
        else:
            slots[i] = 0
    return num_states


@compiled
def _enter(slots: NDArray[np.int64], states: NDArray[np.int64]) -> None:
    """Enters the states of another table into an empty one; `states` may contain empty slots."""
    for state in states:
        if state != 0:
            slots[_find(slots, state >> _COUNT_BITS)] = state


@compiled
def _occupied(slots: NDArray[np.int64]) -> NDArray[np.int64]:
    """The occupied slots. A boolean mask would briefly need another eighth of the memory."""
    num_states = 0
    for state in slots:
        num_states += state != 0
    states = np.empty(num_states, dtype=np.int64)
    i = 0
    for state in slots:
        if state != 0:
            states[i] = state
            i += 1
    return states


@compiled
def _find(slots: NDArray[np.int64], fingerprint: int) -> int:
    """The slot that holds a state, or the empty slot where it belongs."""
    last = len(slots) - 1
    slot = fingerprint & last
    while slots[slot] != 0 and slots[slot] >> _COUNT_BITS != fingerprint:
        slot = (slot + 1) & last
    return slot
