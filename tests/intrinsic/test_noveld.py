from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from helpers.transitions import SPACES, B, T
from rllib_ride.intrinsic import NovelD, Rnd, Transitions


@pytest.mark.parametrize("options", [{}, {"alpha": 0.9}])
def test_bonus_in_the_paper_s_notation(options: dict[str, float], transitions: Transitions) -> None:
    torch.manual_seed(0)
    method = NovelD(*SPACES, **options)
    alpha = options.get("alpha", 0.5)
    counts = 1 + torch.arange(T * B).reshape(T, B) % 5 // 3  # 1, 1, 1, 2, 2, 1, ...
    transitions = replace(transitions, episodic_counts=counts)
    with torch.no_grad():
        prediction = method.predictor(transitions.obs).numpy()  # [T+1, B, D]
        target = method.target(transitions.obs).numpy()  # [T+1, B, D]
    novelty = np.linalg.norm(prediction - target, axis=-1)  # [T+1, B]
    expected = np.zeros((T, B))
    for t, b in zip(*np.nonzero(transitions.mask.numpy()), strict=True):
        first_visit = 1.0 if counts[t, b] == 1 else 0.0
        expected[t, b] = max(novelty[t + 1, b] - alpha * novelty[t, b], 0.0) * first_visit

    assert 1 < np.count_nonzero(expected) < transitions.mask.sum()
    np.testing.assert_allclose(method.bonus(transitions), expected, rtol=1e-3, atol=1e-6)


def test_a_state_visited_before_in_the_episode_is_not_paid(transitions: Transitions) -> None:
    method = NovelD(*SPACES, alpha=0.0)
    again = replace(transitions, episodic_counts=torch.full((T, B), 2))
    assert not method.bonus(again).any()
    first = replace(transitions, episodic_counts=torch.ones(T, B))
    assert (method.bonus(first) > 0)[transitions.mask].all()


def test_without_alpha_and_counts_it_is_rnd_s(transitions: Transitions) -> None:
    method, rnd = NovelD(*SPACES, alpha=0.0), Rnd(*SPACES)
    rnd.load_state_dict(method.state_dict())
    first = replace(transitions, episodic_counts=torch.ones(T, B))
    torch.testing.assert_close(method.bonus(first), rnd.bonus(first))


def test_it_learns_as_rnd_does(transitions: Transitions) -> None:
    method, rnd = NovelD(*SPACES, loss_coef=0.3), Rnd(*SPACES, loss_coef=0.3)
    rnd.load_state_dict(method.state_dict())
    assert method.loss(transitions) == rnd.loss(transitions)
