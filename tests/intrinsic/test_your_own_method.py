"""The code on docs/your-own-method.md, exactly as it stands there."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest
import torch

from helpers.transitions import B, T, random_transitions
from rllib_ride.intrinsic import IntrinsicMethod, Transitions, get_method, registry

PAGE = Path(__file__).parents[2] / "docs" / "your-own-method.md"
IMAGES = gym.spaces.Box(0, 255, (7, 7, 3), np.uint8)
VECTORS = gym.spaces.Box(-np.inf, np.inf, (4,))
SPACES = [
    (IMAGES, gym.spaces.Discrete(5)),
    (VECTORS, gym.spaces.Box(-1.0, 1.0, (2,))),
    (gym.spaces.Discrete(9), gym.spaces.Discrete(5)),
]


@pytest.fixture
def cls(monkeypatch: pytest.MonkeyPatch) -> Iterator[type[IntrinsicMethod]]:
    """The page's class, registered only during a test."""
    monkeypatch.setattr(registry, "_METHODS", dict(registry._METHODS))
    (block,) = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    assert len(block.splitlines()) < 50, "the page promises one small class"
    exec(compile(block, PAGE.name, "exec"), {"__name__": "my_methods"})
    registered = get_method("disagreement")
    assert registered is not None
    yield registered


@pytest.mark.parametrize("spaces", SPACES, ids=["images", "vectors", "discrete"])
def test_pays_learns_and_comes_to_agree(
    cls: type[IntrinsicMethod], spaces: tuple[gym.Space, gym.Space]
) -> None:
    torch.manual_seed(0)
    method, transitions = cls(*spaces), random_transitions(*spaces)
    frozen = {name: p.clone() for name, p in method.named_parameters() if not p.requires_grad}

    bonus = method.bonus(transitions)
    assert bonus.shape == (T, B) and bonus.isfinite().all() and not bonus.requires_grad
    assert (bonus[transitions.mask] > 0).all() and not bonus[~transitions.mask].any()

    losses = train(method, transitions)
    assert losses[-1] < 0.5 * losses[0]
    assert (method.bonus(transitions) < bonus)[transitions.mask].all()
    assert frozen and all(torch.equal(method.get_parameter(name), frozen[name]) for name in frozen)


def train(method: IntrinsicMethod, transitions: Transitions) -> list[float]:
    optimizer = torch.optim.Adam(method.parameters(), lr=1e-3)
    history = []
    for _ in range(30):
        optimizer.zero_grad()
        loss, metrics = method.loss(transitions)
        loss.backward()
        optimizer.step()
        assert metrics["ensemble_loss"] == loss and not metrics["ensemble_loss"].requires_grad
        history.append(loss.item())
    return history


def test_bonus_in_the_page_s_notation(cls: type[IntrinsicMethod]) -> None:
    spaces = SPACES[1]
    method, transitions = cls(*spaces, num_models=3), random_transitions(*spaces)
    with torch.no_grad():
        phi = method.embedding(transitions.obs)[:-1]  # [T, B, D]
        f = np.array([model(phi, transitions.actions).numpy() for model in method.models])
    assert len(f) == 3
    expected = np.zeros((T, B))
    for t, b in zip(*np.nonzero(transitions.mask.numpy()), strict=True):
        mean = f[:, t, b].mean(axis=0)  # [D]
        expected[t, b] = np.mean([np.sum((f_k[t, b] - mean) ** 2) for f_k in f])
    np.testing.assert_allclose(method.bonus(transitions), expected, rtol=1e-4)
