"""Minibatches of V-trace are whole rows, and all Learners make equally many."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from ray.rllib.core import DEFAULT_MODULE_ID
from ray.rllib.core.columns import Columns
from ray.rllib.policy.sample_batch import MultiAgentBatch, SampleBatch
from ray.rllib.utils.minibatch_utils import MiniBatchCyclicIterator

from rllib_ride.rllib.ray_internals import minibatches


def batch_of(lengths: list[int]) -> SampleBatch:
    """Rows whose entries are the row's number."""
    rows = np.repeat(np.arange(len(lengths))[:, None], max(lengths), axis=1)
    batch = SampleBatch({Columns.OBS: rows, Columns.SEQ_LENS: np.array(lengths)})
    batch.enable_slicing_by_batch_id()  # as RLlib's Learner does
    return batch


def rows_of_minibatches(lengths: list[int], num_epochs: int, an_epoch: int) -> list[list[int]]:
    batch = batch_of(lengths)
    multi = MultiAgentBatch({DEFAULT_MODULE_ID: batch}, sum(lengths))
    arguments: dict[str, Any] = minibatches(batch, num_epochs, an_epoch)
    iterator = MiniBatchCyclicIterator(
        multi, num_epochs=num_epochs, shuffle_batch_per_epoch=False, **arguments
    )
    found = [made.policy_batches[DEFAULT_MODULE_ID] for made in iterator]
    return [list(made[Columns.OBS][:, 0]) for made in found]


@pytest.mark.parametrize("an_epoch", [1, 2, 3, 7])
def test_learners_make_equally_many_wherever_their_episodes_end(an_epoch: int) -> None:
    for num_rows in range(7, 110):  # RLlib's own arithmetic rounds to no row at 49, 98, 103, 107
        full = [51] * num_rows
        for lengths in (full, [*full[1:], 21, 31]):  # an episode ends, and another begins
            found = rows_of_minibatches(lengths, 2, an_epoch)
            assert len(found) == 2 * an_epoch
            assert {len(rows) for rows in found} == {-(-len(lengths) // an_epoch)}
            assert set(sum(found[:an_epoch], [])) == set(range(len(lengths)))


def test_epochs_over_the_whole_batch_take_each_row_once() -> None:
    assert rows_of_minibatches([5, 2, 7, 1], 3, 1) == [[0, 1, 2, 3]] * 3


def test_fewer_rows_than_minibatches_are_taken_again() -> None:
    assert rows_of_minibatches([5, 2], 1, 3) == [[0], [1], [0]]
