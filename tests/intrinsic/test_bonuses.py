from __future__ import annotations

import numpy as np
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
