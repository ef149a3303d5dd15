"""ICM, the intrinsic curiosity module (Pathak et al., ICML 2017)."""

from __future__ import annotations

from typing import Literal

import gymnasium as gym
import torch
from torch import Tensor

from rllib_ride.intrinsic import bonuses
from rllib_ride.intrinsic.dynamics import DynamicsMethod
from rllib_ride.intrinsic.transitions import Transitions


class Icm(DynamicsMethod):
    """Rewards transitions whose next state the forward model predicts badly.

    See docs/methods/icm.md, and `DynamicsMethod` for the losses.

    Args:
        observation_space: see `DynamicsMethod`.
        action_space: see `DynamicsMethod`.
        distance: between the predicted and the reached state. `"released"`: the norm, as in the
            code that RIDE's authors released. `"paper"`: its square, as in the text of RIDE.
        forward_loss_coef: see `DynamicsMethod`.
        inverse_loss_coef: see `DynamicsMethod`.

    Raises:
        ValueError: a space or `distance` is not supported.
    """

    def __init__(
        self,
        observation_space: gym.Space,
        action_space: gym.Space,
        distance: Literal["released", "paper"] = "released",
        forward_loss_coef: float = 10.0,
        inverse_loss_coef: float = 0.1,
    ) -> None:
        super().__init__(observation_space, action_space, forward_loss_coef, inverse_loss_coef)
        if distance not in ("released", "paper"):
            raise ValueError(f"distance={distance!r} is unknown; use 'released' or 'paper'")
        self.distance = distance

    @torch.no_grad()
    def bonus(self, transitions: Transitions) -> Tensor:
        """Prediction error of each transition, [T, B]; 0 at padding."""
        phi, phi_next = transitions.embed(self.embedding)  # [n, D] each
        actions = transitions.pack(transitions.actions)  # [n, ...]
        phi_hat_next = self.forward_model(phi, actions)  # [n, D]
        squared = self.distance == "paper"
        return transitions.unpack(bonuses.icm(phi_hat_next, phi_next, squared=squared))
