"""The embedding of RIDE, its ablations and ICM, and the forward and inverse models that train it.

Source: Pathak et al., "Curiosity-driven Exploration by Self-supervised Prediction", ICML 2017;
RIDE (ICLR 2020) adopts it in section 3.
"""

from __future__ import annotations

from typing import Any, ClassVar

import gymnasium as gym
from torch import Tensor

from rllib_ride.intrinsic import bonuses, losses
from rllib_ride.intrinsic.method import IntrinsicMethod
from rllib_ride.intrinsic.networks import Embedding, ForwardModel, InverseModel
from rllib_ride.intrinsic.transitions import Transitions


class DynamicsMethod(IntrinsicMethod):
    """Base class of methods that train an embedding by a forward and an inverse model.

    Subclasses add `bonus`.

    Args:
        observation_space: any that `Embedding` supports.
        action_space: Discrete with `start=0`, or Box.
        forward_loss_coef: w_fw, the weight of the forward model's loss.
        inverse_loss_coef: w_inv, the weight of the inverse model's loss.

    Raises:
        ValueError: a space is not supported.
    """

    embedding_class: ClassVar[Any] = Embedding

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
        self.embedding = self.embedding_class(observation_space)
        self.forward_model = ForwardModel(self.embedding.num_features, action_space)
        self.inverse_model = InverseModel(self.embedding.num_features, action_space)

    def loss(self, transitions: Transitions) -> tuple[Tensor, dict[str, Tensor]]:
        """w_fw * L_fw + w_inv * L_inv, summed over time, averaged over the batch.

        Logs `forward_loss` and `inverse_loss`, both weighted, and `impact`, the mean of
        ||phi(s_{t+1}) - phi(s_t)||_2: RIDE's bonus without the episodic counts.
        """
        phi, phi_next = transitions.embed(self.embedding)  # [n, D] each
        actions = transitions.pack(transitions.actions)  # [n, ...]

        l_fw = losses.forward_error(self.forward_model(phi, actions), phi_next)  # [n]
        l_inv = self.inverse_model.error(phi, phi_next, actions)  # [n]
        impact = bonuses.impact(phi.detach(), phi_next.detach())  # [n]

        mask = transitions.mask
        l_fw, l_inv, impact = (transitions.unpack(x) for x in (l_fw, l_inv, impact))  # [T, B]
        forward_loss = self.forward_loss_coef * losses.sum_over_time_mean_over_batch(l_fw, mask)
        inverse_loss = self.inverse_loss_coef * losses.sum_over_time_mean_over_batch(l_inv, mask)
        return forward_loss + inverse_loss, {
            "forward_loss": forward_loss.detach(),
            "inverse_loss": inverse_loss.detach(),
            "impact": losses.mean_over_transitions(impact, mask),
        }
