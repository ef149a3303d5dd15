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
    """Pays for steps that change what is seen much, less so for states seen this episode.

    Nothing is learned, so there are no networks. docs/methods/ride_raw_observations.md tells the
    whole of it.

    Args:
        observation_space: any that `Embedding` takes.
        action_space: of any kind, it is not read.

    Raises:
        ValueError: the observation space is not supported.
    """

    needs_episodic_counts: ClassVar[bool] = True

    def __init__(self, observation_space: gym.Space, action_space: gym.Space) -> None:
        super().__init__(observation_space, action_space)
        check_observation_space(observation_space)
        self.divisor = 255.0 if is_bytes(observation_space) else 1.0  # as `Embedding`'s

    @torch.no_grad()
    def bonus(self, transitions: Transitions) -> Tensor:
        """Change of each transition over the root of N_ep, [T, B]; 0 at padding."""
        s, s_next = transitions.embed(self._vectors)  # [n, D] each
        n_ep = transitions.pack(transitions.episodic_counts)  # [n]
        return transitions.unpack(bonuses.ride(s, s_next, n_ep))

    def loss(self, transitions: Transitions) -> tuple[Tensor, dict[str, Tensor]]:
        """0: there is nothing to learn, nor to log."""
        return torch.zeros((), device=transitions.mask.device), {}

    def _vectors(self, obs: Tensor) -> Tensor:
        return flatten(obs, self.observation_space) / self.divisor  # [n, D]
