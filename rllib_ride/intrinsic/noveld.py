"""NovelD, novelty difference (Zhang et al., NeurIPS 2021)."""

from __future__ import annotations

from typing import ClassVar

import gymnasium as gym
import torch
from torch import Tensor

from rllib_ride.intrinsic import bonuses
from rllib_ride.intrinsic.rnd import Rnd
from rllib_ride.intrinsic.transitions import Transitions


class NovelD(Rnd):
    """Rewards transitions on which RND's novelty rises, at a state's first visit in the episode.

    See docs/methods/noveld.md, and `Rnd` for the loss.

    Args:
        observation_space: see `Rnd`.
        action_space: any; not used.
        alpha: the share of nov(s_t) that is subtracted from nov(s_{t+1}).
        loss_coef: see `Rnd`.

    Raises:
        ValueError: the observation space is not supported.
    """

    needs_episodic_counts: ClassVar[bool] = True

    def __init__(
        self,
        observation_space: gym.Space,
        action_space: gym.Space,
        alpha: float = 0.5,
        loss_coef: float = 0.1,
    ) -> None:
        super().__init__(observation_space, action_space, loss_coef)
        self.alpha = alpha

    @torch.no_grad()
    def bonus(self, transitions: Transitions) -> Tensor:
        """The rise in novelty of each transition, [T, B]; 0 for falls, revisits and padding."""
        novelty, novelty_next = transitions.embed(self.novelty)  # [n] each
        n_ep = transitions.pack(transitions.episodic_counts)  # [n]
        return transitions.unpack(bonuses.noveld(novelty, novelty_next, n_ep, alpha=self.alpha))
