"""How often each state was visited over the whole of training, in 8 bytes a state."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rllib_ride.compiled import compiled
from rllib_ride.intrinsic.counts import scramble

# A slot holds one state as fingerprint * 2^23 + count, an int64; 0 is an empty slot. Signed, as
# numba, like NumPy, makes floats of signed and unsigned integers that meet.
_COUNT_BITS = 23
_MAX_COUNT = 2**_COUNT_BITS - 1

_FEWEST_SLOTS = 2**16
_MOST_SLOTS = 2**27


class VisitTable:
    """Counts the visits of states by their keys: a hash table with open addressing.

    A state is known by `fingerprint_bits` of its scrambled key, so that with n states in the table
    a new one is taken for one of them with a probability of n / 2^fingerprint_bits: 1 in 11,000 at
    1e8 states. Its place follows from its fingerprint, so the table grows from what it holds: it
    doubles when three quarters full. At `max_slots` it has no room to grow (1 GiB and 1e8 states by
    default): states that are not in it then are not entered, and each of their visits is a first.

    Counts end at 8,388,607.

    Args:
        max_slots: a power of two, the size to which the table grows.
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
        """Records one visit of each state, one after the other.

        Args:
            keys: [n], one 64-bit integer a state, such as `hash_observations` makes.

        Returns:
            How often each was visited so far, the visit just made included, [n].
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
        """Undoes one visit of each state; states without a visit left are no longer in the table.

        Args:
            keys: [n], as `visit` had them. Those that a full table had no room for are passed over.
        """
        self._num_states = _unvisit(self._slots, self._fingerprints(keys))
        # Slots have become empty at which searches for others would end: all are entered anew.
        self._resize(len(self._slots), self._slots)

    def entries(self) -> NDArray[np.int32]:
        """What the table holds, [len(self), 2], to be saved: `load` reads it.

        Pairs of int32, for RLlib makes int32 of the int64 in a module's state.
        """
        return _occupied(self._slots).view(np.int32).reshape(-1, 2)

    def load(self, entries: NDArray[np.int32]) -> None:
        """Replaces what the table holds by the `entries` of another of the same fingerprints."""
        states = np.ascontiguousarray(entries, dtype=np.int32).view(np.int64)[:, 0]
        num_slots = min(_FEWEST_SLOTS, self._max_slots)
        while _room(num_slots) < len(states):
            num_slots *= 2
        self._resize(num_slots, states)
        self._num_states = len(states)

    def _fingerprints(self, keys: NDArray[np.integer]) -> NDArray[np.int64]:
        """By which states are known, [n]."""
        scrambled = scramble(keys.astype(np.uint64))
        return (scrambled >> np.uint64(64 - self._fingerprint_bits)).astype(np.int64)

    def _resize(self, num_slots: int, states: NDArray[np.int64]) -> None:
        slots = np.zeros(num_slots, dtype=np.int64)
        _enter(slots, states)
        self._slots = slots


def _room(num_slots: int) -> int:
    """How many states a table holds before searches in it get long."""
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
    """Visits from `start` on, to the end or to where there is no room for a new state.

    Writes to `slots`, and to `counts` the visits of states that are in the table.

    Returns:
        Up to where it came, and the number of states that it added.
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
    """Counts one visit less of each state, empties the slots of those without one.

    Returns:
        The number of states that are left.
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
    """Puts states, and empty slots among them, from one table into a larger, empty one."""
    for state in states:
        if state != 0:
            slots[_find(slots, state >> _COUNT_BITS)] = state


@compiled
def _occupied(slots: NDArray[np.int64]) -> NDArray[np.int64]:
    """The states in the slots. A mask would take an eighth of the table's memory for a moment."""
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
    """The slot that a state is in, or the empty one that it belongs in."""
    last = len(slots) - 1
    slot = fingerprint & last
    while slots[slot] != 0 and slots[slot] >> _COUNT_BITS != fingerprint:
        slot = (slot + 1) & last
    return slot
