"""RIDE on observations in place of embeddings (RIDE, ICLR 2020, "Other Practical Insights")."""

from __future__ import annotations

from typing import ClassVar

import gymnasium as gym
import torch
from torch import Tensor

from rllib_ride.intrinsic import bonuses
from rllib_ride.intrinsic.method import IntrinsicMethod
from rllib_ride.intrinsic.spaces import check_observation_space, flatten, is_bytes
from rllib_ride.intrinsic.transitions import Transitions


class RideRawObservations(IntrinsicMethod):
    """Rewards change of the observation, divided by the root of the episodic visit count.

    Nothing is learned, so there are no networks. See docs/methods/ride_raw_observations.md.

    Args:
        observation_space: any that `Embedding` supports.
        action_space: any; not used.

    Raises:
        ValueError: the observation space is not supported.
    """

    needs_episodic_counts: ClassVar[bool] = True

    def __init__(self, observation_space: gym.Space, action_space: gym.Space) -> None:
        super().__init__(observation_space, action_space)
        check_observation_space(observation_space)
        self.divisor = 255.0 if is_bytes(observation_space) else 1.0  # as in `Embedding`

    @torch.no_grad()
    def bonus(self, transitions: Transitions) -> Tensor:
        """||s_{t+1} - s_t||_2 / sqrt(N_ep) of each transition, [T, B]; 0 at padding."""
        s, s_next = transitions.embed(self._vectors)  # [n, D] each
        n_ep = transitions.pack(transitions.episodic_counts)  # [n]
        return transitions.unpack(bonuses.ride(s, s_next, n_ep))

    def loss(self, transitions: Transitions) -> tuple[Tensor, dict[str, Tensor]]:
        """0: nothing is learned or logged."""
        return torch.zeros((), device=transitions.mask.device), {}

    def _vectors(self, obs: Tensor) -> Tensor:
        return flatten(obs, self.observation_space) / self.divisor  # [n, D]
