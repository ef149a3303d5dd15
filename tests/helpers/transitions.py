"""A small batch with different sizes of time, batch and features, and its spaces."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
import torch

from rllib_ride.intrinsic import Transitions

T, B, A = 6, 3, 5
SHAPE = (7, 7, 3)
SPACES = gym.spaces.Box(0, 255, SHAPE, np.uint8), gym.spaces.Discrete(A)


def random_transitions(
    observation_space: gym.Space = SPACES[0], action_space: gym.Space = SPACES[1]
) -> Transitions:
    """Sequences of 6, 2 and 4 transitions, padded to T with random values too."""
    generator = torch.Generator().manual_seed(0)
    return Transitions(
        obs=_samples(observation_space, (T + 1, B), generator),
        actions=_samples(action_space, (T, B), generator),
        episodic_counts=torch.randint(1, 9, (T, B), generator=generator),
        mask=torch.arange(T)[:, None] < torch.tensor([6, 2, 4]),
        state_keys=torch.randint(-(2**62), 2**62, (T, B), generator=generator),
        episode_ids=torch.tensor([7, 8, 9]),
        t_started=torch.tensor([0, 3, 0]),
    )


def _samples(space: gym.Space, axes: tuple[int, int], generator: torch.Generator) -> torch.Tensor:
    """Samples of a Discrete or Box, [T, B, ...]; uint8 values are small, as in MiniGrid."""
    if isinstance(space, gym.spaces.Discrete):
        start, end = int(space.start), int(space.start + space.n)
        return torch.randint(start, end, axes, generator=generator)
    assert isinstance(space, gym.spaces.Box)
    shape = (*axes, *space.shape)
    if space.dtype == np.uint8:
        return torch.randint(0, 11, shape, dtype=torch.uint8, generator=generator)
    return torch.randn(shape, generator=generator)
