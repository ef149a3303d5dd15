from __future__ import annotations

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from rllib_ride.intrinsic import losses

T, B, D, A = 5, 3, 4, 6
FULL = np.ones((T, B), dtype=bool)
PADDED = np.arange(T)[:, None] < np.array([5, 2, 3])  # sequences of 5, 2 and 3 transitions

masks = pytest.mark.parametrize("mask", [FULL, PADDED], ids=["full", "padded"])


def oracle(x: NDArray, mask: NDArray) -> float:
    """sum_t mean_b as the paper has it; padded, T times the mean over what is real."""
    if mask.all():
        return sum(np.mean(x[t]) for t in range(T))
    real = [x[t, b] for t in range(T) for b in range(B) if mask[t, b]]
    return T * sum(real) / len(real)


@masks
def test_forward_loss(mask: NDArray) -> None:
    prediction, phi_next = np.random.default_rng(0).normal(size=(2, T, B, D))
    error = np.sqrt(np.sum((prediction - phi_next) ** 2, axis=-1))  # [T, B]

    args = (torch.from_numpy(x) for x in (prediction, phi_next, mask))
    np.testing.assert_allclose(losses.forward_loss(*args), oracle(error, mask), rtol=1e-12)


@masks
def test_inverse_loss(mask: NDArray) -> None:
    rng = np.random.default_rng(0)
    logits, actions = rng.normal(size=(T, B, A)), rng.integers(0, A, size=(T, B))
    probabilities = np.exp(logits) / np.exp(logits).sum(axis=-1, keepdims=True)  # [T, B, A]
    cross_entropy = -np.log(np.take_along_axis(probabilities, actions[..., None], -1))[..., 0]

    args = (torch.from_numpy(x) for x in (logits, actions, mask))
    np.testing.assert_allclose(losses.inverse_loss(*args), oracle(cross_entropy, mask), rtol=1e-12)


def test_cutting_a_sequence_into_padded_pieces_changes_no_loss() -> None:
    x = torch.arange(1.0, 7.0).reshape(6, 1)  # one sequence of 6
    pieces = torch.full((6, 2), torch.nan)  # the same as pieces of 4 and 2, padded with anything
    pieces[:4, 0], pieces[:2, 1] = x[:4, 0], x[4:, 0]

    whole = losses.sum_over_time_mean_over_batch(x, torch.ones_like(x, dtype=torch.bool))
    cut = losses.sum_over_time_mean_over_batch(pieces, ~pieces.isnan())
    assert whole == cut == 21.0


def test_a_batch_of_padding_alone_costs_nothing() -> None:
    nothing = torch.zeros(T, B, dtype=torch.bool)
    assert losses.sum_over_time_mean_over_batch(torch.ones(T, B), nothing) == 0.0


def test_gradient_of_a_perfect_prediction_is_zero_and_no_nan() -> None:
    phi_next = torch.ones(T, B, D, requires_grad=True)
    prediction = torch.ones(T, B, D, requires_grad=True)
    losses.forward_loss(prediction, phi_next, torch.from_numpy(FULL)).backward()
    assert prediction.grad is not None and phi_next.grad is not None
    assert not prediction.grad.any() and not phi_next.grad.any()
