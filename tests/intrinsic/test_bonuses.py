from __future__ import annotations

import numpy as np
import pytest
import torch

from rllib_ride.intrinsic import bonuses

T, B, D = 5, 3, 4


def test_ride_is_impact_over_the_root_of_the_count() -> None:
    rng = np.random.default_rng(0)
    phi, phi_next = rng.normal(size=(2, T, B, D))
    n_ep = rng.integers(1, 20, size=(T, B))

    expected = np.empty((T, B))
    for t in range(T):
        for b in range(B):
            impact = np.sqrt(np.sum((phi_next[t, b] - phi[t, b]) ** 2))
            expected[t, b] = impact / np.sqrt(n_ep[t, b])

    r = bonuses.ride(*(torch.from_numpy(x) for x in (phi, phi_next, n_ep)))
    np.testing.assert_allclose(r.numpy(), expected, rtol=1e-12)


def test_ride_pays_a_first_visit_in_full_and_a_fourth_half() -> None:
    phi, phi_next = torch.zeros(1, 2, 2), torch.tensor([[[3.0, 4.0], [3.0, 4.0]]])
    assert bonuses.ride(phi, phi_next, torch.tensor([[1, 4]])).tolist() == [[5.0, 2.5]]


def test_impact_is_the_distance_of_the_two_states() -> None:
    phi, phi_next = np.random.default_rng(0).normal(size=(2, T, B, D))
    expected = np.sqrt(np.sum((phi_next - phi) ** 2, axis=-1))  # [T, B]

    r = bonuses.impact(torch.from_numpy(phi), torch.from_numpy(phi_next))
    np.testing.assert_allclose(r, expected, rtol=1e-12)


@pytest.mark.parametrize("dtype", [np.int64, np.float32])
def test_only_episodic_counts_is_one_over_the_root_of_the_count(dtype: type) -> None:
    n_ep = np.random.default_rng(0).integers(1, 20, size=(T, B))
    r = bonuses.only_episodic_counts(torch.from_numpy(n_ep.astype(dtype)))
    assert r.dtype == torch.float32
    np.testing.assert_allclose(r, n_ep**-0.5, rtol=1e-6)


def test_icm_is_the_distance_of_prediction_and_state_or_its_square() -> None:
    phi_hat, phi_next = np.random.default_rng(0).normal(size=(2, T, B, D))
    squared = np.sum((phi_hat - phi_next) ** 2, axis=-1)  # [T, B]

    tensors = torch.from_numpy(phi_hat), torch.from_numpy(phi_next)
    np.testing.assert_allclose(bonuses.icm(*tensors, squared=True), squared, rtol=1e-12)
    np.testing.assert_allclose(bonuses.icm(*tensors, squared=False), np.sqrt(squared), rtol=1e-12)


def test_rnd_is_the_distance_of_prediction_and_target() -> None:
    prediction, target = np.random.default_rng(0).normal(size=(2, T, B, D))
    expected = np.sqrt(np.sum((prediction - target) ** 2, axis=-1))  # [T, B]

    r = bonuses.rnd(torch.from_numpy(prediction), torch.from_numpy(target))
    np.testing.assert_allclose(r, expected, rtol=1e-12)


@pytest.mark.parametrize("dtype", [np.int64, np.float32])
def test_count_is_one_over_the_root_of_the_visits(dtype: type) -> None:
    n = np.random.default_rng(0).integers(1, 10**7, size=(T, B))
    r = bonuses.count(torch.from_numpy(n.astype(dtype)))
    assert r.dtype == torch.float32
    np.testing.assert_allclose(r, n**-0.5, rtol=1e-6)


def test_noveld_is_the_rise_of_novelty_at_a_first_visit() -> None:
    rng = np.random.default_rng(0)
    novelty, novelty_next = rng.exponential(size=(2, T, B))
    n_ep = rng.integers(1, 3, size=(T, B))
    expected = np.empty((T, B))
    for t in range(T):
        for b in range(B):
            rise = max(novelty_next[t, b] - 0.4 * novelty[t, b], 0.0)
            expected[t, b] = rise if n_ep[t, b] == 1 else 0.0
    assert 0 < np.count_nonzero(expected) < np.count_nonzero(n_ep == 1) < T * B

    tensors = (torch.from_numpy(x) for x in (novelty, novelty_next, n_ep))
    np.testing.assert_allclose(bonuses.noveld(*tensors, alpha=0.4), expected, rtol=1e-12)


def test_e3b_is_the_ellipse_s_norm_before_each_state_is_entered() -> None:
    rng = np.random.default_rng(0)
    phi, before = rng.normal(size=(B, T, D)), rng.normal(size=(B, 2, D))
    c_0 = 0.1 * np.eye(D) + before.swapaxes(1, 2) @ before  # [B, D, D]
    expected = np.empty((B, T))
    for b in range(B):
        c = c_0[b].copy()
        for t in range(T):
            expected[b, t] = phi[b, t] @ np.linalg.inv(c) @ phi[b, t]
            c += np.outer(phi[b, t], phi[b, t])

    b = bonuses.e3b(torch.from_numpy(phi), torch.from_numpy(c_0))
    np.testing.assert_allclose(b, expected, rtol=1e-10)


def test_e3b_of_states_at_right_angles_is_their_square_over_lambda() -> None:
    b = bonuses.e3b(torch.diag(torch.tensor([1.0, 2.0, 3.0])).double(), 0.5 * torch.eye(3).double())
    assert b.tolist() == pytest.approx([2.0, 8.0, 18.0])
