from __future__ import annotations

import numpy as np
import pytest
import torch

from helpers.transitions import SPACES, B, T
from rllib_ride.intrinsic import Rnd, Transitions


@pytest.fixture
def method() -> Rnd:
    torch.manual_seed(0)
    return Rnd(*SPACES)


def test_bonus_and_loss_in_the_paper_s_notation(transitions: Transitions) -> None:
    method = Rnd(*SPACES, loss_coef=0.3)
    with torch.no_grad():
        prediction = method.predictor(transitions.obs).numpy()  # [T+1, B, D]
        target = method.target(transitions.obs).numpy()  # [T+1, B, D]
    mask = transitions.mask.numpy()
    expected = np.zeros((T, B))
    for t, b in zip(*np.nonzero(mask), strict=True):
        expected[t, b] = np.linalg.norm(prediction[t + 1, b] - target[t + 1, b])

    np.testing.assert_allclose(method.bonus(transitions), expected, rtol=1e-4)
    loss, metrics = method.loss(transitions)
    assert loss.item() == pytest.approx(0.3 * T * expected[mask].mean(), rel=1e-5)
    assert metrics == {"rnd_loss": loss}
    assert not metrics["rnd_loss"].requires_grad


def test_the_loss_weighs_a_tenth(method: Rnd, transitions: Transitions) -> None:
    loss, _ = method.loss(transitions)
    mean = method.bonus(transitions)[transitions.mask].mean()
    assert loss.item() == pytest.approx(0.1 * T * mean.item(), rel=1e-5)


def test_predictor_and_target_start_apart(method: Rnd) -> None:
    for predictor, target in zip(
        method.predictor.convolutions, method.target.convolutions, strict=True
    ):
        if isinstance(predictor, torch.nn.Conv2d):
            assert not torch.equal(predictor.weight, target.weight)


def test_the_target_is_kept_but_never_trained(method: Rnd, transitions: Transitions) -> None:
    """Not even by an optimizer with weight decay that is given every parameter."""
    before = {name: value.clone() for name, value in method.state_dict().items()}
    optimizer = torch.optim.RMSprop(method.parameters(), lr=1e-2, weight_decay=0.1)
    for _ in range(3):
        method.loss(transitions)[0].backward()
        optimizer.step()
    changed = {
        name for name, value in method.state_dict().items() if not torch.equal(value, before[name])
    }
    assert changed == {name for name in before if name.startswith("predictor.")}
    assert any(name.startswith("target.") for name in before)


def test_an_imitated_state_is_not_paid(method: Rnd, transitions: Transitions) -> None:
    method.predictor.load_state_dict(method.target.state_dict())
    assert not method.bonus(transitions).any()
