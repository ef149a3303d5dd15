"""Every method of this package on every kind of observations and actions."""

from __future__ import annotations

from dataclasses import replace

import gymnasium as gym
import numpy as np
import pytest
import torch

from helpers.transitions import B, T, random_transitions
from rllib_ride.intrinsic import Ride, get_method, methods

OBSERVATIONS = {
    "bytes": gym.spaces.Box(0, 255, (7, 7, 3), np.uint8),
    "image": gym.spaces.Box(-np.inf, np.inf, (6, 9, 2), np.float32),
    "vector": gym.spaces.Box(-np.inf, np.inf, (4,), np.float64),
    "matrix": gym.spaces.Box(-5.0, 5.0, (3, 2), np.float32),
    "discrete": gym.spaces.Discrete(11, start=2),
}
ACTIONS = {
    "discrete": gym.spaces.Discrete(5),
    "box": gym.spaces.Box(-1.0, 1.0, (2,)),
    "matrix": gym.spaces.Box(-np.inf, np.inf, (2, 3)),
}
NAMES = [name for name in methods() if name != "none"]


@pytest.mark.parametrize("actions", ACTIONS)
@pytest.mark.parametrize("observations", OBSERVATIONS)
@pytest.mark.parametrize("name", NAMES)
def test_pays_and_learns(name: str, observations: str, actions: str) -> None:
    spaces = OBSERVATIONS[observations], ACTIONS[actions]
    # All are first visits: some methods reward no others.
    transitions = replace(random_transitions(*spaces), episodic_counts=torch.ones(T, B))
    cls = get_method(name)
    assert cls is not None
    if cls.shares_policy_embedding and len(spaces[0].shape) != 3:
        with pytest.raises(ValueError, match="expected a Box of images"):
            cls(*spaces)
        return
    torch.manual_seed(0)
    method = cls(*spaces)

    bonus = method.bonus(transitions)
    assert bonus.shape == (T, B) and bonus.isfinite().all()
    assert (bonus >= 0).all()
    assert (bonus[transitions.mask] > 0).any()
    assert not bonus[~transitions.mask].any()

    learning = [parameter for parameter in method.parameters() if parameter.requires_grad]
    if not learning:
        assert method.loss(transitions)[0] == 0.0
        return
    optimizer = torch.optim.Adam(learning, lr=1e-3)
    history = []
    for _ in range(10):
        optimizer.zero_grad()
        loss, metrics = method.loss(transitions)
        loss.backward()
        optimizer.step()
        history.append(loss.item())
        assert all(value.isfinite() for value in metrics.values())
    assert history[-1] < 0.9 * history[0]


def test_ride_on_vectors_and_actions_in_a_box_in_the_paper_s_notation() -> None:
    spaces = OBSERVATIONS["vector"], ACTIONS["matrix"]
    method, transitions = Ride(*spaces, 3.0, 0.2), random_transitions(*spaces)
    with torch.no_grad():
        phi = method.embedding(transitions.obs)  # [T+1, B, D]
        phi_hat = method.forward_model(phi[:-1], transitions.actions).numpy()  # [T, B, D]
        a_hat = method.inverse_model(phi[:-1], phi[1:]).numpy()  # [T, B, A]
    phi, actions = phi.numpy(), transitions.actions.numpy()

    bonus, forward, inverse = np.zeros((T, B)), [], []
    for t, b in zip(*np.nonzero(transitions.mask.numpy()), strict=True):
        n_ep = transitions.episodic_counts[t, b].item()
        bonus[t, b] = np.linalg.norm(phi[t + 1, b] - phi[t, b]) / np.sqrt(n_ep)
        forward.append(np.linalg.norm(phi_hat[t, b] - phi[t + 1, b]))
        inverse.append(np.sum((a_hat[t, b] - actions[t, b].reshape(-1)) ** 2))

    np.testing.assert_allclose(method.bonus(transitions), bonus, rtol=1e-4)
    _, metrics = method.loss(transitions)
    assert metrics["forward_loss"] == pytest.approx(3.0 * T * np.mean(forward), rel=1e-5)
    assert metrics["inverse_loss"] == pytest.approx(0.2 * T * np.mean(inverse), rel=1e-5)


@pytest.mark.parametrize("name", ["icm", "no_episodic_counts", "ride", "rnd"])
def test_observations_without_an_embedding_are_refused(name: str) -> None:
    cls = get_method(name)
    assert cls is not None
    for space in (gym.spaces.MultiBinary(3), gym.spaces.Dict(image=OBSERVATIONS["bytes"])):
        with pytest.raises(ValueError, match=r"a Box of images.*or a Discrete"):
            cls(space, ACTIONS["discrete"])
