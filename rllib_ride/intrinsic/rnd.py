"""RND, random network distillation (Burda et al., ICLR 2019)."""

from __future__ import annotations

import gymnasium as gym
import torch
from torch import Tensor

from rllib_ride.intrinsic import bonuses, losses
from rllib_ride.intrinsic.method import IntrinsicMethod
from rllib_ride.intrinsic.networks import Embedding
from rllib_ride.intrinsic.transitions import Transitions


class Rnd(IntrinsicMethod):
    """Rewards states on which the predictor has not yet learned to match a fixed random network.

    See docs/methods/rnd.md.

    Args:
        observation_space: any that `Embedding` supports.
        action_space: any; not used.
        loss_coef: w_rnd, the weight of the predictor's loss.

    Raises:
        ValueError: the observation space is not supported.
    """

    def __init__(
        self, observation_space: gym.Space, action_space: gym.Space, loss_coef: float = 0.1
    ) -> None:
        super().__init__(observation_space, action_space)
        self.loss_coef = loss_coef
        self.target = Embedding(observation_space).requires_grad_(False)
        self.predictor = Embedding(observation_space)

    @torch.no_grad()
    def bonus(self, transitions: Transitions) -> Tensor:
        """The predictor's error on each state reached, [T, B]; 0 at padding."""
        obs_next = transitions.pack(transitions.obs[1:])  # [n, H, W, C]
        return transitions.unpack(self.novelty(obs_next))

    def loss(self, transitions: Transitions) -> tuple[Tensor, dict[str, Tensor]]:
        """w_rnd times the predictor's error, summed over time, averaged over the batch.

        Logs `rnd_loss`, its weight included.
        """
        obs_next = transitions.pack(transitions.obs[1:])  # [n, H, W, C]
        error = transitions.unpack(self.novelty(obs_next))  # [T, B]
        loss = self.loss_coef * losses.sum_over_time_mean_over_batch(error, transitions.mask)
        return loss, {"rnd_loss": loss.detach()}

    def novelty(self, obs: Tensor) -> Tensor:
        """The predictor's error on each of n states: [n, H, W, C] -> [n]."""
        return bonuses.rnd(self.predictor(obs), self.target(obs))
