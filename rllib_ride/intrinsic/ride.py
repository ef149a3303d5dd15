"""RIDE, rewarding impact-driven exploration (Raileanu and Rocktaeschel, ICLR 2020)."""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor

from rllib_ride.intrinsic import bonuses
from rllib_ride.intrinsic.dynamics import DynamicsMethod
from rllib_ride.intrinsic.transitions import Transitions


class Ride(DynamicsMethod):
    """Rewards change of the embedded state, divided by the root of the episodic visit count.

    See docs/methods/ride.md, and `DynamicsMethod` for the arguments and the losses.
    """

    needs_episodic_counts: ClassVar[bool] = True

    @torch.no_grad()
    def bonus(self, transitions: Transitions) -> Tensor:
        """R_IDE of each transition, [T, B]; 0 at padding."""
        phi, phi_next = transitions.embed(self.embedding)  # [n, D] each
        n_ep = transitions.pack(transitions.episodic_counts)  # [n]
        return transitions.unpack(bonuses.ride(phi, phi_next, n_ep))
