"""RIDE, rewarding impact-driven exploration (Raileanu and Rocktaeschel, ICLR 2020)."""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor

from rllib_ride.intrinsic import bonuses
from rllib_ride.intrinsic.dynamics import DynamicsMethod
from rllib_ride.intrinsic.transitions import Transitions


class Ride(DynamicsMethod):
    """Pays for steps that change the embedded state much, less so for states seen this episode.

    docs/methods/ride.md tells the whole of it; `DynamicsMethod`, what it takes and how it learns.
    """

    needs_episodic_counts: ClassVar[bool] = True

    @torch.no_grad()
    def bonus(self, transitions: Transitions) -> Tensor:
        """R_IDE of each transition, [T, B]; 0 at padding."""
        phi, phi_next = transitions.embed(self.embedding)  # [n, D] each
        n_ep = transitions.pack(transitions.episodic_counts)  # [n]
        return transitions.unpack(bonuses.ride(phi, phi_next, n_ep))
