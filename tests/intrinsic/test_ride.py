from __future__ import annotations

from dataclasses import replace

import gymnasium as gym
import numpy as np
import pytest
import torch

from rllib_ride.intrinsic import Ride, Transitions

T, B, A = 6, 3, 5
SHAPE = (7, 7, 3)


@pytest.fixture
def method() -> Ride:
    torch.manual_seed(0)
    return Ride(gym.spaces.Box(0, 255, SHAPE, np.uint8), gym.spaces.Discrete(A))


@pytest.fixture
def transitions() -> Transitions:
    generator = torch.Generator().manual_seed(0)
    return Transitions(
        obs=torch.randint(0, 11, (T + 1, B, *SHAPE), dtype=torch.uint8, generator=generator),
        actions=torch.randint(0, A, (T, B), generator=generator),
        episodic_counts=torch.randint(1, 9, (T, B), generator=generator),
        mask=torch.arange(T)[:, None] < torch.tensor([6, 2, 4]),
    )


def test_bonus_in_the_paper_s_notation(method: Ride, transitions: Transitions) -> None:
    with torch.no_grad():
        phi = method.embedding(transitions.obs).numpy()  # [T+1, B, D]
    n_ep, mask = transitions.episodic_counts.numpy(), transitions.mask.numpy()
    expected = np.zeros((T, B))
    for t, b in zip(*np.nonzero(mask), strict=True):
        expected[t, b] = np.linalg.norm(phi[t + 1, b] - phi[t, b]) / np.sqrt(n_ep[t, b])

    bonus = method.bonus(transitions)
    assert not bonus.requires_grad
    np.testing.assert_allclose(bonus.numpy(), expected, rtol=1e-4)


def test_an_episode_s_first_step_is_paid(method: Ride, transitions: Transitions) -> None:
    assert (method.bonus(transitions)[0] > 0).all()


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
    spaces = gym.spaces.Box(0, 255, SHAPE, np.uint8), gym.spaces.Discrete(A)
    method = Ride(*spaces, forward_loss_coef=0.0, inverse_loss_coef=1.0)
    loss, metrics = method.loss(transitions)
    assert metrics["forward_loss"] == 0.0
    assert loss == metrics["inverse_loss"] > 0.0


def test_nothing_is_read_across_an_episode_s_end(method: Ride, transitions: Transitions) -> None:
    """Sequences of 6, 2 and 4 transitions: what lies behind their last observation is nobody's."""
    behind = torch.ones(T + 1, B, dtype=torch.bool)
    behind[0], behind[1:] = False, ~transitions.mask
    obs = transitions.obs.clone()
    obs[behind] = 255
    counts = transitions.episodic_counts.where(transitions.mask, 0)
    actions = transitions.actions.where(transitions.mask, -1)
    other = replace(transitions, obs=obs, episodic_counts=counts, actions=actions)

    torch.testing.assert_close(method.bonus(other), method.bonus(transitions))
    assert not method.bonus(other)[~transitions.mask].any()
    assert gradients(method, other).keys() == gradients(method, transitions).keys()
    for name, gradient in gradients(method, transitions).items():
        torch.testing.assert_close(gradients(method, other)[name], gradient, msg=name)


def test_every_network_learns_and_phi_learns_from_both_losses(transitions: Transitions) -> None:
    spaces = gym.spaces.Box(0, 255, SHAPE, np.uint8), gym.spaces.Discrete(A)
    forward = gradients(Ride(*spaces, inverse_loss_coef=0.0), transitions)
    inverse = gradients(Ride(*spaces, forward_loss_coef=0.0), transitions)
    assert {name.split(".")[0] for name, g in forward.items() if g.any()} == {
        "embedding",
        "forward_model",
    }
    assert {name.split(".")[0] for name, g in inverse.items() if g.any()} == {
        "embedding",
        "inverse_model",
    }


def gradients(method: Ride, transitions: Transitions) -> dict[str, torch.Tensor]:
    method.zero_grad()
    method.loss(transitions)[0].backward()
    return {
        name: torch.zeros_like(p) if p.grad is None else p.grad.clone()
        for name, p in method.named_parameters()
    }


def test_updates_stay_finite_when_nothing_ever_changes(
    method: Ride, transitions: Transitions
) -> None:
    """NaN at the first update was the released code's fault that its users met first."""
    still = replace(transitions, obs=torch.zeros_like(transitions.obs))
    optimizer = torch.optim.RMSprop(method.parameters(), lr=1e-3)
    for _ in range(3):
        optimizer.zero_grad()
        loss, _ = method.loss(still)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(method.parameters(), 40.0)
        optimizer.step()
    assert all(parameter.isfinite().all() for parameter in method.parameters())
    assert not method.bonus(still).any()


def test_a_batch_of_padding_alone_is_harmless(method: Ride, transitions: Transitions) -> None:
    nothing = replace(transitions, mask=torch.zeros_like(transitions.mask))
    assert method.bonus(nothing).shape == (T, B) and not method.bonus(nothing).any()
    loss, metrics = method.loss(nothing)
    assert loss == 0.0 and all(value == 0.0 for value in metrics.values())
    assert not any(gradient.any() for gradient in gradients(method, nothing).values())


def test_training_lowers_the_loss(method: Ride, transitions: Transitions) -> None:
    """One batch, by heart: wrong signs or a detached network would show."""
    optimizer = torch.optim.RMSprop(method.parameters(), lr=1e-4, eps=0.01)
    history = []
    for _ in range(60):
        optimizer.zero_grad()
        loss, metrics = method.loss(transitions)
        loss.backward()
        optimizer.step()
        history.append(metrics)
    assert history[-1]["forward_loss"] < 0.8 * history[0]["forward_loss"]
    assert history[-1]["inverse_loss"] < history[0]["inverse_loss"]


def test_a_continuous_action_space_is_refused() -> None:
    with pytest.raises(ValueError, match="Discrete"):
        Ride(gym.spaces.Box(0, 255, SHAPE, np.uint8), gym.spaces.Box(-1, 1, (2,)))
    with pytest.raises(ValueError, match="from 0"):
        Ride(gym.spaces.Box(0, 255, SHAPE, np.uint8), gym.spaces.Discrete(3, start=1))
