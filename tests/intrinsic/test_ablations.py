from __future__ import annotations

import numpy as np
import torch

from helpers.transitions import SPACES, B, T
from rllib_ride.intrinsic import (
    NoEntropyNoEpisodicCounts,
    NoEpisodicCounts,
    OnlyEpisodicCounts,
    Ride,
    Transitions,
)


def test_no_episodic_counts_in_the_paper_s_notation(transitions: Transitions) -> None:
    method = NoEpisodicCounts(*SPACES)
    with torch.no_grad():
        phi = method.embedding(transitions.obs).numpy()  # [T+1, B, D]
    expected = np.zeros((T, B))
    for t, b in zip(*np.nonzero(transitions.mask.numpy()), strict=True):
        expected[t, b] = np.linalg.norm(phi[t + 1, b] - phi[t, b])

    np.testing.assert_allclose(method.bonus(transitions), expected, rtol=1e-4)


def test_only_episodic_counts_in_the_paper_s_notation(transitions: Transitions) -> None:
    n_ep = transitions.episodic_counts.numpy()
    expected = np.zeros((T, B))
    for t, b in zip(*np.nonzero(transitions.mask.numpy()), strict=True):
        expected[t, b] = 1.0 / np.sqrt(n_ep[t, b])

    bonus = OnlyEpisodicCounts(*SPACES).bonus(transitions)
    np.testing.assert_allclose(bonus, expected, rtol=1e-6)


def test_only_episodic_counts_has_nothing_to_learn(transitions: Transitions) -> None:
    method = OnlyEpisodicCounts(*SPACES)
    loss, metrics = method.loss(transitions)
    assert loss == 0.0 and not loss.requires_grad and metrics == {}
    assert list(method.parameters()) == [] and method.state_dict() == {}


def test_the_two_ablations_multiply_to_ride(transitions: Transitions) -> None:
    ride, impact = Ride(*SPACES), NoEpisodicCounts(*SPACES)
    impact.load_state_dict(ride.state_dict())
    product = impact.bonus(transitions) * OnlyEpisodicCounts(*SPACES).bonus(transitions)
    torch.testing.assert_close(product, ride.bonus(transitions))
    assert impact.loss(transitions) == ride.loss(transitions)


def test_no_entropy_differs_in_the_policy_s_entropy_alone(transitions: Transitions) -> None:
    method, other = NoEntropyNoEpisodicCounts(*SPACES), NoEpisodicCounts(*SPACES)
    other.load_state_dict(method.state_dict())
    assert torch.equal(method.bonus(transitions), other.bonus(transitions))
    assert (method.entropy_coeff, other.entropy_coeff) == (0.0, None)
