from __future__ import annotations

from dataclasses import replace

import gymnasium as gym
import numpy as np
import pytest
import torch

from helpers.transitions import SPACES, A, B, T
from rllib_ride.intrinsic import RideRawObservations, Transitions


def test_bonus_in_the_paper_s_notation(transitions: Transitions) -> None:
    obs = transitions.obs.numpy().astype(np.float64) / 255.0
    n_ep = transitions.episodic_counts.numpy()
    expected = np.zeros((T, B))
    for t, b in zip(*np.nonzero(transitions.mask.numpy()), strict=True):
        change = np.sqrt(np.sum((obs[t + 1, b] - obs[t, b]) ** 2))
        expected[t, b] = change / np.sqrt(n_ep[t, b])

    bonus = RideRawObservations(*SPACES).bonus(transitions)
    np.testing.assert_allclose(bonus, expected, rtol=1e-5)


def test_it_has_nothing_to_learn(transitions: Transitions) -> None:
    method = RideRawObservations(*SPACES)
    loss, metrics = method.loss(transitions)
    assert loss == 0.0 and not loss.requires_grad and metrics == {}
    assert method.state_dict() == {}


def test_vectors_are_taken_as_they_are(transitions: Transitions) -> None:
    obs = torch.zeros(T + 1, B, 4)
    obs[1:] = torch.tensor([3.0, 0.0, 0.0, 4.0])
    first = replace(transitions, obs=obs, episodic_counts=torch.ones(T, B))
    method = RideRawObservations(gym.spaces.Box(-9, 9, (4,)), gym.spaces.Box(-1, 1, (2,)))
    assert method.bonus(first)[0].tolist() == [5.0] * B
    assert not method.bonus(first)[1:].any()


def test_discrete_states_are_as_far_from_each_other_as_from_any(transitions: Transitions) -> None:
    obs = torch.tensor([2, 7, 3, 3, 4, 2, 2])[:, None].expand(T + 1, B)  # [T+1, B]
    first = replace(transitions, obs=obs, episodic_counts=torch.ones(T, B))
    method = RideRawObservations(gym.spaces.Discrete(6, start=2), gym.spaces.Discrete(A))
    distance = 2**0.5
    expected = [distance, distance, 0.0, distance, distance, 0.0]
    assert method.bonus(first)[:, 0].tolist() == pytest.approx(expected)


def test_another_space_is_refused() -> None:
    with pytest.raises(ValueError, match=r"keys \['image'\].*or a Discrete"):
        RideRawObservations(gym.spaces.Dict({"image": SPACES[0]}), SPACES[1])
