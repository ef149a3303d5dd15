from __future__ import annotations

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from rllib_ride.intrinsic import losses

T, B, D, A = 5, 3, 4, 6
FULL = np.ones((T, B), dtype=bool)
PADDED = np.arange(T)[:, None] < np.array([5, 2, 3])  # sequences of 5, 2 and 3 transitions


def test_forward_error() -> None:
    phi_hat, phi_next = np.random.default_rng(0).normal(size=(2, T, B, D))
    expected = np.sqrt(np.sum((phi_hat - phi_next) ** 2, axis=-1))  # [T, B]

    error = losses.forward_error(torch.from_numpy(phi_hat), torch.from_numpy(phi_next))
    np.testing.assert_allclose(error, expected, rtol=1e-12)


def test_inverse_error() -> None:
    rng = np.random.default_rng(0)
    logits, actions = rng.normal(size=(T, B, A)), rng.integers(0, A, size=(T, B))
    probabilities = np.exp(logits) / np.exp(logits).sum(axis=-1, keepdims=True)  # [T, B, A]
    expected = [[-np.log(probabilities[t, b, actions[t, b]]) for b in range(B)] for t in range(T)]

    error = losses.inverse_error(torch.from_numpy(logits), torch.from_numpy(actions))
    np.testing.assert_allclose(error, expected, rtol=1e-12)


def test_inverse_squared_error() -> None:
    prediction, actions = np.random.default_rng(0).normal(size=(2, T, B, A))
    expected = np.zeros((T, B))
    for a in range(A):
        expected += (prediction[..., a] - actions[..., a]) ** 2

    tensors = torch.from_numpy(prediction), torch.from_numpy(actions)
    np.testing.assert_allclose(losses.inverse_squared_error(*tensors), expected, rtol=1e-12)


@pytest.mark.parametrize("mask", [FULL, PADDED], ids=["full", "padded"])
def test_sum_over_time_mean_over_batch(mask: NDArray) -> None:
    """As in the paper; with padding, T times the mean over real transitions."""
    x = np.random.default_rng(0).normal(size=(T, B))
    if mask.all():
        expected = sum(np.mean(x[t]) for t in range(T))
    else:
        expected = T * np.mean([x[t, b] for t in range(T) for b in range(B) if mask[t, b]])

    reduced = losses.sum_over_time_mean_over_batch(torch.from_numpy(x), torch.from_numpy(mask))
    np.testing.assert_allclose(reduced, expected, rtol=1e-12)


def test_cutting_a_sequence_into_padded_pieces_changes_no_loss() -> None:
    x = torch.arange(1.0, 7.0).reshape(6, 1)  # one sequence of 6
    pieces = torch.full((6, 2), torch.nan)  # the same in pieces of 4 and 2, padded with NaN
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
    losses.forward_error(prediction, phi_next).sum().backward()
    assert prediction.grad is not None and phi_next.grad is not None
    assert not prediction.grad.any() and not phi_next.grad.any()
