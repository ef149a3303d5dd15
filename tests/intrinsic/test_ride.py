from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from helpers.transitions import SPACES, B, T
from rllib_ride.intrinsic import Ride, Transitions


@pytest.fixture
def method() -> Ride:
    torch.manual_seed(0)
    return Ride(*SPACES)


def test_bonus_in_the_paper_s_notation(method: Ride, transitions: Transitions) -> None:
    with torch.no_grad():
        phi = method.embedding(transitions.obs).numpy()  # [T+1, B, D]
    n_ep, mask = transitions.episodic_counts.numpy(), transitions.mask.numpy()
    expected = np.zeros((T, B))
    for t, b in zip(*np.nonzero(mask), strict=True):
        expected[t, b] = np.linalg.norm(phi[t + 1, b] - phi[t, b]) / np.sqrt(n_ep[t, b])

    np.testing.assert_allclose(method.bonus(transitions), expected, rtol=1e-4)


def test_loss_in_the_paper_s_notation(method: Ride, transitions: Transitions) -> None:
    with torch.no_grad():
        phi = method.embedding(transitions.obs)
        prediction = method.forward_model(phi[:-1], transitions.actions).numpy()
        logits = method.inverse_model(phi[:-1], phi[1:]).numpy()
    phi, actions = phi.numpy(), transitions.actions.numpy()

    forward, inverse, impact = [], [], []
    for t, b in zip(*np.nonzero(transitions.mask.numpy()), strict=True):
        forward.append(np.linalg.norm(prediction[t, b] - phi[t + 1, b]))
        inverse.append(np.log(np.exp(logits[t, b]).sum()) - logits[t, b, actions[t, b]])
        impact.append(np.linalg.norm(phi[t + 1, b] - phi[t, b]))

    loss, metrics = method.loss(transitions)
    assert set(metrics) == {"forward_loss", "inverse_loss", "impact"}
    assert metrics["forward_loss"] == pytest.approx(10.0 * T * np.mean(forward), rel=1e-5)
    assert metrics["inverse_loss"] == pytest.approx(0.1 * T * np.mean(inverse), rel=1e-5)
    assert metrics["impact"] == pytest.approx(np.mean(impact), rel=1e-4)
    assert loss.item() == pytest.approx(
        (metrics["forward_loss"] + metrics["inverse_loss"]).item(), rel=1e-6
    )
    assert not any(value.requires_grad for value in metrics.values())


def test_coefficients_weigh_the_losses(transitions: Transitions) -> None:
    method = Ride(*SPACES, forward_loss_coef=0.0, inverse_loss_coef=1.0)
    loss, metrics = method.loss(transitions)
    assert metrics["forward_loss"] == 0.0
    assert loss == metrics["inverse_loss"] > 0.0


def test_every_network_learns_and_phi_learns_from_both_losses(transitions: Transitions) -> None:
    forward = learning(Ride(*SPACES, inverse_loss_coef=0.0), transitions)
    inverse = learning(Ride(*SPACES, forward_loss_coef=0.0), transitions)
    assert forward == {"embedding", "forward_model"}
    assert inverse == {"embedding", "inverse_model"}


def learning(method: Ride, transitions: Transitions) -> set[str]:
    """The networks that the loss has a gradient for."""
    method.loss(transitions)[0].backward()
    return {
        name
        for name, network in method.named_children()
        if any(p.grad is not None and p.grad.any() for p in network.parameters())
    }


def test_a_step_that_changes_nothing_is_not_paid(method: Ride, transitions: Transitions) -> None:
    still = replace(transitions, obs=torch.zeros_like(transitions.obs))
    assert not method.bonus(still).any()
