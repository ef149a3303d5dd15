"""A small batch with unequal sizes, and the spaces it comes from."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
import torch

from rllib_ride.intrinsic import Transitions

T, B, A = 6, 3, 5
SHAPE = (7, 7, 3)
SPACES = gym.spaces.Box(0, 255, SHAPE, np.uint8), gym.spaces.Discrete(A)


def random_transitions() -> Transitions:
    """Sequences of 6, 2 and 4 transitions, padded to T with what is random too."""
    generator = torch.Generator().manual_seed(0)
    return Transitions(
        obs=torch.randint(0, 11, (T + 1, B, *SHAPE), dtype=torch.uint8, generator=generator),
        actions=torch.randint(0, A, (T, B), generator=generator),
        episodic_counts=torch.randint(1, 9, (T, B), generator=generator),
        mask=torch.arange(T)[:, None] < torch.tensor([6, 2, 4]),
        state_keys=torch.randint(-(2**62), 2**62, (T, B), generator=generator),
        episode_ids=torch.tensor([7, 8, 9]),
        t_started=torch.tensor([0, 3, 0]),
    )
