from __future__ import annotations

import copy
import io
import pickle
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
import torch

from helpers.transitions import SPACES, B, T
from rllib_ride.intrinsic import Count, Transitions


def with_keys(transitions: Transitions, seed: int, num_states: int = 5) -> Transitions:
    """Random keys of few states, so that most are revisited; padding has a key of its own."""
    rng = np.random.default_rng(seed)
    states = np.random.default_rng(0).integers(-(2**63), 2**63, size=num_states)
    keys = torch.from_numpy(rng.choice(states, size=(T, B)))
    return replace(transitions, state_keys=keys.where(transitions.mask, 0))


def test_bonus_in_the_paper_s_notation(transitions: Transitions) -> None:
    """Counts are shared by all columns and batches, in order of time; padding is not a visit."""
    method, visits = Count(*SPACES), Counter[int]()
    for seed in range(3):
        batch = with_keys(transitions, seed)
        expected = np.zeros((T, B))
        for t in range(T):
            for b in range(B):
                if batch.mask[t, b]:
                    key = int(batch.state_keys[t, b])
                    visits[key] += 1
                    expected[t, b] = 1.0 / np.sqrt(visits[key])
        np.testing.assert_allclose(method.bonus(batch), expected, rtol=1e-6)
    assert max(visits.values()) > 5
    assert method.loss(batch)[1] == {"visited_states": len(visits)}


def test_the_loss_is_nothing_and_counts_nothing(transitions: Transitions) -> None:
    method = Count(*SPACES)
    for _ in range(2):
        loss, metrics = method.loss(transitions)
        assert loss == 0.0 and metrics == {"visited_states": 0}


def visited(transitions: Transitions) -> Count:
    method = Count(*SPACES)
    for seed in range(3):
        method.bonus(with_keys(transitions, seed, num_states=20))
    return method


@pytest.mark.parametrize("way", ["state_dict", "file", "rllib"])
def test_visits_survive_a_checkpoint(way: str, transitions: Transitions) -> None:
    method = visited(transitions)
    state = method.state_dict()
    assert list(state) == ["_extra_state"] and len(state["_extra_state"]) > 10
    if way == "file":
        file = io.BytesIO()
        torch.save(state, file)
        file.seek(0)
        state = torch.load(file, weights_only=True)
    elif way == "rllib":
        arrays = pickle.loads(pickle.dumps(rllib_get_state(state)))
        state = {name: torch.from_numpy(array) for name, array in arrays.items()}

    other = Count(*SPACES)
    other.load_state_dict(state, strict=True)
    for seed in range(3, 6):  # both continue counting independently
        batch = with_keys(transitions, seed, num_states=30)
        assert torch.equal(other.bonus(batch), method.bonus(batch))


def rllib_get_state(state: dict[str, torch.Tensor]) -> dict[str, np.ndarray]:
    """As in TorchRLModule.get_state: arrays, with int64 and float64 cast to 32 bits."""
    arrays = {name: tensor.detach().cpu().numpy() for name, tensor in state.items()}
    return {
        name: array.astype(np.int32)
        if array.dtype == np.int64
        else array.astype(np.float32)
        if np.issubdtype(array.dtype, np.floating)
        else array
        for name, array in arrays.items()
    }


def test_a_state_of_before_any_visit_empties_the_table(transitions: Transitions) -> None:
    method = visited(transitions)
    method.load_state_dict(Count(*SPACES).state_dict())
    batch = with_keys(transitions, seed=0)
    assert torch.equal(method.bonus(batch), Count(*SPACES).bonus(batch))


def test_a_saved_state_stays_as_it_was(transitions: Transitions) -> None:
    method = visited(transitions)
    state = method.state_dict()
    before = copy.deepcopy(state)
    method.bonus(with_keys(transitions, seed=9))
    assert torch.equal(state["_extra_state"], before["_extra_state"])


def test_without_visits_a_state_dict_is_refused(transitions: Transitions) -> None:
    with pytest.raises(RuntimeError, match="_extra_state"):
        Count(*SPACES).load_state_dict({}, strict=True)


def test_a_bonus_taken_back_was_never_asked_for(transitions: Transitions) -> None:
    method, other = visited(transitions), visited(transitions)
    method.bonus(with_keys(transitions, seed=9, num_states=7))
    for _ in range(2):  # the second has nothing left to do
        method.take_back()
    batch = with_keys(transitions, seed=3, num_states=7)
    torch.testing.assert_close(method.bonus(batch), other.bonus(batch))
