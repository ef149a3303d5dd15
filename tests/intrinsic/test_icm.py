from __future__ import annotations

import numpy as np
import pytest
import torch

from helpers.transitions import SPACES, B, T
from rllib_ride.intrinsic import Icm, Ride, Transitions


@pytest.mark.parametrize(("distance", "power"), [("released", 1), ("paper", 2)])
def test_bonus_in_the_paper_s_notation(distance: str, power: int, transitions: Transitions) -> None:
    method = Icm(*SPACES, distance=distance)
    with torch.no_grad():
        phi = method.embedding(transitions.obs)  # [T+1, B, D]
        phi_hat = method.forward_model(phi[:-1], transitions.actions).numpy()  # [T, B, D]
    phi = phi.numpy()
    expected = np.zeros((T, B))
    for t, b in zip(*np.nonzero(transitions.mask.numpy()), strict=True):
        expected[t, b] = np.linalg.norm(phi_hat[t, b] - phi[t + 1, b]) ** power

    np.testing.assert_allclose(method.bonus(transitions), expected, rtol=1e-4)


def test_the_released_code_s_distance_is_the_default(transitions: Transitions) -> None:
    method = Icm(*SPACES)
    other = Icm(*SPACES, distance="released")
    other.load_state_dict(method.state_dict())
    assert torch.equal(method.bonus(transitions), other.bonus(transitions))


def test_it_learns_as_ride_does(transitions: Transitions) -> None:
    coefs = {"forward_loss_coef": 3.0, "inverse_loss_coef": 0.2}
    icm, ride = Icm(*SPACES, **coefs), Ride(*SPACES, **coefs)
    ride.load_state_dict(icm.state_dict())
    assert icm.loss(transitions) == ride.loss(transitions)


def test_an_unknown_distance_is_refused() -> None:
    with pytest.raises(ValueError, match="distance='squared' is unknown.*'released' or 'paper'"):
        Icm(*SPACES, distance="squared")
