"""RIDE's ablations without the episodic counts (RIDE, ICLR 2020, appendix "Ablations")."""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor

from rllib_ride.intrinsic import bonuses
from rllib_ride.intrinsic.dynamics import DynamicsMethod
from rllib_ride.intrinsic.transitions import Transitions


class NoEpisodicCounts(DynamicsMethod):
    """RIDE's impact alone: going back and forth between two states is rewarded every time.

    See docs/methods/ablations.md, and `DynamicsMethod` for the arguments and the losses.
    """

    @torch.no_grad()
    def bonus(self, transitions: Transitions) -> Tensor:
        """Impact of each transition, [T, B]; 0 at padding."""
        phi, phi_next = transitions.embed(self.embedding)  # [n, D] each
        return transitions.unpack(bonuses.impact(phi, phi_next))


class NoEntropyNoEpisodicCounts(NoEpisodicCounts):
    """The same bonus, and a policy loss without an entropy term."""

    entropy_coeff: ClassVar[float | None] = 0.0
