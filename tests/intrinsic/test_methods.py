"""What holds for every method of this package."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import gymnasium as gym
import numpy as np
import pytest
import torch

from helpers.transitions import SHAPE, SPACES, B, T, random_transitions
from rllib_ride.intrinsic import IntrinsicMethod, Transitions, get_method, methods

NAMES = [name for name in methods() if name != "none"]
NOT_LEARNING = ["count", "only_episodic_counts", "ride_raw_observations"]
LEARNING = [name for name in NAMES if name not in NOT_LEARNING]
# The embeddings of these learn which action led from one state to the next.
INVERSE = ["e3b", "icm", "no_entropy_no_episodic_counts", "no_episodic_counts", "ride"]

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
        "count",
        "e3b",
        "icm",
        "no_entropy_no_episodic_counts",
        "no_episodic_counts",
        "noveld",
        "only_episodic_counts",
        "ride",
        "ride_raw_observations",
        "ride_shared_embedding",
        "rnd",
    ]


@pytest.mark.parametrize("name", NAMES)
def test_each_step_is_paid_the_first_included_and_no_padding(
    make: Make, name: str, transitions: Transitions
) -> None:
    bonus = make(name).bonus(transitions)
    assert bonus.shape == (T, B) and bonus.dtype == torch.float32
    assert not bonus.requires_grad
    assert not bonus[~transitions.mask].any()
    is_paid = (bonus > 0)[transitions.mask]
    assert is_paid.any() if name == "noveld" else is_paid.all()  # it rewards only rises


@pytest.mark.parametrize("name", NAMES)
def test_an_episode_s_first_step_is_paid(make: Make, name: str) -> None:
    """The step leads from an all-zero observation to one that differs in each cell."""
    first = random_transitions()
    obs = torch.zeros_like(first.obs)
    obs[1:] = torch.arange(1, 1 + SHAPE[0]).reshape(-1, 1, 1)
    first = replace(
        first, obs=obs, episodic_counts=torch.ones(T, B), t_started=torch.zeros(B).long()
    )
    assert (make(name).bonus(first)[0] > 0).all()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("field", ["episodic_counts", "state_keys"])
def test_only_who_says_so_reads_the_counts_or_the_keys(
    make: Make, name: str, field: str, transitions: Transitions
) -> None:
    other = replace(transitions, **{field: torch.ones_like(getattr(transitions, field))})
    same = torch.equal(make(name).bonus(other), make(name).bonus(transitions))
    assert same != getattr(make(name), f"needs_{field}")


@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_read_across_an_episode_s_end(
    make: Make, name: str, transitions: Transitions
) -> None:
    """Sequences of 6, 2 and 4 transitions: what follows their last observation is not read."""
    behind = torch.ones(T + 1, B, dtype=torch.bool)
    behind[0], behind[1:] = False, ~transitions.mask
    obs = transitions.obs.clone()
    obs[behind] = 255
    other = replace(
        transitions,
        obs=obs,
        episodic_counts=transitions.episodic_counts.where(transitions.mask, 0),
        actions=transitions.actions.where(transitions.mask, -1),
        state_keys=transitions.state_keys.where(transitions.mask, 7),
    )

    method, method_of_other = make(name), make(name)
    for _ in range(2):  # nor is it read from what the first call stored
        bonus = method.bonus(transitions)
        torch.testing.assert_close(method_of_other.bonus(other), bonus)
    torch.testing.assert_close(method_of_other.loss(other), method.loss(transitions))
    if name in LEARNING:
        expected = gradients(method, transitions)
        for network, gradient in gradients(method_of_other, other).items():
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
    """Other implementations have shipped a random encoder that is never trained."""
    method = make(name)
    before = {name: p.detach().clone() for name, p in method.named_parameters()}
    learning = {name for name, p in method.named_parameters() if p.requires_grad}
    assert learning and all(not name.startswith("target") for name in learning)
    train(method, transitions, updates=1)
    changed = {name for name, p in method.named_parameters() if not torch.equal(p, before[name])}
    assert changed == learning


@pytest.mark.parametrize("name", NOT_LEARNING)
def test_the_others_have_nothing_to_learn(make: Make, name: str, transitions: Transitions) -> None:
    method = make(name)
    loss, _ = method.loss(transitions)
    assert loss == 0.0 and not loss.requires_grad
    assert list(method.parameters()) == []


@pytest.mark.parametrize("name", LEARNING)
def test_training_lowers_the_losses(make: Make, name: str, transitions: Transitions) -> None:
    """Overfits one batch: wrong signs or a detached network would show."""
    losses = train(make(name), transitions, updates=60, lr=1e-3)
    assert losses[-1]["total"] < 0.5 * losses[0]["total"]
    for metric in set(losses[0]) - {"impact"}:
        assert losses[-1][metric] < losses[0][metric]


@pytest.mark.parametrize(
    ("name", "least", "most"),
    [("icm", 0.0, 0.2), ("rnd", 0.0, 0.7), ("noveld", 0.0, 0.8)]
    + [("ride", 0.5, 1.5), ("no_episodic_counts", 0.5, 1.5)],
)
def test_the_bonus_fades_with_training_on_the_same_transitions_but_for_impact(
    make: Make, name: str, least: float, most: float, transitions: Transitions
) -> None:
    """The remaining share of the bonus: surprise fades with learning, impact does not.

    Impact may still change, because the forward loss also draws the embeddings together.
    """
    transitions = replace(transitions, episodic_counts=torch.ones(T, B))
    method = make(name)
    before = method.bonus(transitions).sum()
    train(method, transitions, updates=100, lr=1e-4)
    assert least < method.bonus(transitions).sum() / before < most


@pytest.mark.parametrize("name", sorted(set(NAMES) - {"e3b"}))
def test_without_training_visits_alone_lower_the_bonus_of_count_alone(
    make: Make, name: str, transitions: Transitions
) -> None:
    method = make(name)
    first, second = method.bonus(transitions), method.bonus(transitions)
    if name == "count":
        torch.testing.assert_close(second, first / 2**0.5)
    else:
        assert torch.equal(second, first)


def train(
    method: IntrinsicMethod, transitions: Transitions, updates: int, lr: float = 1e-4
) -> list[dict[str, float]]:
    """Trains and returns the weighted losses before each update."""
    optimizer = torch.optim.RMSprop(method.parameters(), lr=lr, eps=0.01)
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
    """The first fault that users of the released code met was NaN at the first update."""
    method = make(name)
    train(method, replace(transitions, obs=torch.zeros_like(transitions.obs)), updates=3)
    assert all(parameter.isfinite().all() for parameter in method.parameters())


@pytest.mark.parametrize("name", sorted(set(LEARNING) - {"rnd", "noveld"}))
def test_an_action_space_without_an_inverse_model_is_refused(name: str) -> None:
    cls = get_method(name)
    assert cls is not None
    images = gym.spaces.Box(0, 255, SHAPE, np.uint8)
    with pytest.raises(ValueError, match="counted from 0 or a Box"):
        cls(images, gym.spaces.MultiDiscrete([2, 3]))
    with pytest.raises(ValueError, match="from 0"):
        cls(images, gym.spaces.Discrete(3, start=1))
