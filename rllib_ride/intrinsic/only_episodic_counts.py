"""RIDE's ablation without the impact (RIDE, ICLR 2020, appendix "Ablations")."""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor

from rllib_ride.intrinsic import bonuses
from rllib_ride.intrinsic.method import IntrinsicMethod
from rllib_ride.intrinsic.transitions import Transitions


class OnlyEpisodicCounts(IntrinsicMethod):
    """RIDE's episodic counts alone: rewards states rarely visited in this episode.

    Nothing is learned, so there are no networks. See docs/methods/ablations.md.

    Args:
        observation_space: any; not used.
        action_space: any; not used.
    """

    needs_episodic_counts: ClassVar[bool] = True

    @torch.no_grad()
    def bonus(self, transitions: Transitions) -> Tensor:
        """1 / sqrt(N_ep) of each transition, [T, B]; 0 at padding."""
        n_ep = transitions.pack(transitions.episodic_counts)  # [n]
        return transitions.unpack(bonuses.only_episodic_counts(n_ep))

    def loss(self, transitions: Transitions) -> tuple[Tensor, dict[str, Tensor]]:
        """0: nothing is learned or logged."""
        return torch.zeros((), device=transitions.mask.device), {}
