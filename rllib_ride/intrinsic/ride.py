"""RIDE, rewarding impact-driven exploration (Raileanu and Rocktaeschel, ICLR 2020)."""

from __future__ import annotations

from typing import ClassVar

import gymnasium as gym
import torch
from torch import Tensor

from rllib_ride.intrinsic import bonuses, losses
from rllib_ride.intrinsic.method import IntrinsicMethod
from rllib_ride.intrinsic.networks import Embedding, ForwardModel, InverseModel
from rllib_ride.intrinsic.spaces import num_actions
from rllib_ride.intrinsic.transitions import Transitions


class Ride(IntrinsicMethod):
    """Pays for steps that change the embedded state much, less so for states seen this episode.

    The embedding learns by a forward and an inverse model of the dynamics. docs/methods/ride.md
    tells the whole of it.

    Args:
        observation_space: Box of uint8 images, (H, W, C).
        action_space: Discrete, counted from 0.
        forward_loss_coef: w_fw, the weight of the forward model's loss.
        inverse_loss_coef: w_inv, the weight of the inverse model's loss.

    Raises:
        ValueError: a space is not supported.
    """

    needs_episodic_counts: ClassVar[bool] = True

    def __init__(
        self,
        observation_space: gym.Space,
        action_space: gym.Space,
        forward_loss_coef: float = 10.0,
        inverse_loss_coef: float = 0.1,
    ) -> None:
        super().__init__(observation_space, action_space)
        self.forward_loss_coef = forward_loss_coef
        self.inverse_loss_coef = inverse_loss_coef
        self.embedding = Embedding(observation_space)
        sizes = self.embedding.num_features, num_actions(action_space)
        self.forward_model = ForwardModel(*sizes)
        self.inverse_model = InverseModel(*sizes)

    @torch.no_grad()
    def bonus(self, transitions: Transitions) -> Tensor:
        """R_IDE of each transition, [T, B]; 0 at padding."""
        phi, phi_next = self._embed(transitions)
        return transitions.zero_padding(bonuses.ride(phi, phi_next, transitions.episodic_counts))

    def loss(self, transitions: Transitions) -> tuple[Tensor, dict[str, Tensor]]:
        """w_fw * L_fw + w_inv * L_inv.

        Logs `forward_loss` and `inverse_loss` with their weights, and `impact`, the mean of
        ||phi(s_{t+1}) - phi(s_t)||_2: the bonus without its counts.
        """
        phi, phi_next = self._embed(transitions)
        actions, mask = transitions.actions, transitions.mask

        phi_hat_next = self.forward_model(phi, actions)  # [T, B, D]
        forward_loss = self.forward_loss_coef * losses.forward_loss(phi_hat_next, phi_next, mask)

        logits = self.inverse_model(phi, phi_next)  # [T, B, A]
        inverse_loss = self.inverse_loss_coef * losses.inverse_loss(logits, actions, mask)

        impact = torch.linalg.vector_norm((phi_next - phi).detach(), dim=-1)  # [T, B]
        return forward_loss + inverse_loss, {
            "forward_loss": forward_loss.detach(),
            "inverse_loss": inverse_loss.detach(),
            "impact": losses.mean_over_transitions(impact, mask),
        }

    def _embed(self, transitions: Transitions) -> tuple[Tensor, Tensor]:
        """phi(s_t) and phi(s_{t+1}), each [T, B, D]; every observation is embedded once."""
        phi = self.embedding(transitions.obs)  # [T+1, B, D]
        return phi[:-1], phi[1:]
