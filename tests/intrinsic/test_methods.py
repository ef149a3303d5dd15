"""What holds for every method of this package."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import gymnasium as gym
import numpy as np
import pytest
import torch

from helpers.transitions import SHAPE, SPACES, B, T
from rllib_ride.intrinsic import IntrinsicMethod, Transitions, get_method, methods

NAMES = [name for name in methods() if name != "none"]
LEARNING = [name for name in NAMES if name != "only_episodic_counts"]
# Methods whose bonus is a prediction error, which the loss lowers.
CURIOUS = ["icm", "rnd"]

Make = Callable[[str], IntrinsicMethod]


@pytest.fixture
def make() -> Make:
    def make_(name: str) -> IntrinsicMethod:
        torch.manual_seed(0)
        cls = get_method(name)
        assert cls is not None
        return cls(*SPACES)

    return make_


def test_no_method_of_this_package_is_left_out() -> None:
    assert NAMES == [
        "icm",
        "no_entropy_no_episodic_counts",
        "no_episodic_counts",
        "only_episodic_counts",
        "ride",
        "rnd",
    ]


@pytest.mark.parametrize("name", NAMES)
def test_each_step_is_paid_the_first_included_and_no_padding(
    make: Make, name: str, transitions: Transitions
) -> None:
    bonus = make(name).bonus(transitions)
    assert bonus.shape == (T, B) and bonus.dtype == torch.float32
    assert not bonus.requires_grad
    assert (bonus[transitions.mask] > 0).all()
    assert not bonus[~transitions.mask].any()


@pytest.mark.parametrize("name", NAMES)
def test_only_who_says_so_reads_the_counts(make: Make, name: str, transitions: Transitions) -> None:
    method = make(name)
    other = replace(transitions, episodic_counts=transitions.episodic_counts + 1)
    same = torch.equal(method.bonus(other), method.bonus(transitions))
    assert same != method.needs_episodic_counts


@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_read_across_an_episode_s_end(
    make: Make, name: str, transitions: Transitions
) -> None:
    """Sequences of 6, 2 and 4 transitions: what lies behind their last observation is nobody's."""
    method = make(name)
    behind = torch.ones(T + 1, B, dtype=torch.bool)
    behind[0], behind[1:] = False, ~transitions.mask
    obs = transitions.obs.clone()
    obs[behind] = 255
    counts = transitions.episodic_counts.where(transitions.mask, 0)
    actions = transitions.actions.where(transitions.mask, -1)
    other = replace(transitions, obs=obs, episodic_counts=counts, actions=actions)

    torch.testing.assert_close(method.bonus(other), method.bonus(transitions))
    torch.testing.assert_close(method.loss(other)[0], method.loss(transitions)[0])
    if name in LEARNING:
        expected = gradients(method, transitions)
        for network, gradient in gradients(method, other).items():
            torch.testing.assert_close(gradient, expected[network], msg=network)


def gradients(method: IntrinsicMethod, transitions: Transitions) -> dict[str, torch.Tensor]:
    method.zero_grad()
    method.loss(transitions)[0].backward()
    return {name: p.grad.clone() for name, p in method.named_parameters() if p.grad is not None}


@pytest.mark.parametrize("name", NAMES)
def test_a_batch_of_padding_alone_is_harmless(
    make: Make, name: str, transitions: Transitions
) -> None:
    method = make(name)
    nothing = replace(transitions, mask=torch.zeros_like(transitions.mask))
    assert method.bonus(nothing).shape == (T, B) and not method.bonus(nothing).any()
    loss, metrics = method.loss(nothing)
    assert loss == 0.0 and all(value == 0.0 for value in metrics.values())
    if name in LEARNING:
        assert not any(gradient.any() for gradient in gradients(method, nothing).values())


@pytest.mark.parametrize("name", LEARNING)
def test_an_update_changes_every_parameter_that_learns(
    make: Make, name: str, transitions: Transitions
) -> None:
    """A random encoder that is never trained has been shipped by others."""
    method = make(name)
    before = {name: p.detach().clone() for name, p in method.named_parameters()}
    learning = {name for name, p in method.named_parameters() if p.requires_grad}
    assert learning and all(not name.startswith("target") for name in learning)
    train(method, transitions, updates=1)
    changed = {name for name, p in method.named_parameters() if not torch.equal(p, before[name])}
    assert changed == learning


@pytest.mark.parametrize("name", LEARNING)
def test_training_lowers_the_losses(make: Make, name: str, transitions: Transitions) -> None:
    """One batch, by heart: wrong signs or a detached network would show."""
    losses = train(make(name), transitions, updates=60)
    assert losses[-1]["total"] < 0.8 * losses[0]["total"]
    for metric in set(losses[0]) - {"impact"}:
        assert losses[-1][metric] < losses[0][metric]


@pytest.mark.parametrize("name", CURIOUS)
def test_the_bonus_falls_with_training_on_the_same_transitions(
    make: Make, name: str, transitions: Transitions
) -> None:
    method = make(name)
    before = method.bonus(transitions)
    train(method, transitions, updates=100)
    assert (method.bonus(transitions) < 0.7 * before)[transitions.mask].all()


def train(
    method: IntrinsicMethod, transitions: Transitions, updates: int
) -> list[dict[str, float]]:
    """The losses, each at its weight, before each update."""
    optimizer = torch.optim.RMSprop(method.parameters(), lr=1e-4, eps=0.01)
    history = []
    for _ in range(updates):
        optimizer.zero_grad()
        loss, metrics = method.loss(transitions)
        loss.backward()
        optimizer.step()
        history.append({"total": loss.item()} | {k: v.item() for k, v in metrics.items()})
    return history


@pytest.mark.parametrize("name", LEARNING)
def test_updates_stay_finite_when_nothing_ever_changes(
    make: Make, name: str, transitions: Transitions
) -> None:
    """NaN at the first update was the released code's fault that its users met first."""
    method = make(name)
    train(method, replace(transitions, obs=torch.zeros_like(transitions.obs)), updates=3)
    assert all(parameter.isfinite().all() for parameter in method.parameters())


@pytest.mark.parametrize("name", sorted(set(LEARNING) - {"rnd"}))
def test_an_action_space_without_an_inverse_model_is_refused(name: str) -> None:
    cls = get_method(name)
    assert cls is not None
    images = gym.spaces.Box(0, 255, SHAPE, np.uint8)
    with pytest.raises(ValueError, match="counted from 0 or a Box"):
        cls(images, gym.spaces.MultiDiscrete([2, 3]))
    with pytest.raises(ValueError, match="from 0"):
        cls(images, gym.spaces.Discrete(3, start=1))
