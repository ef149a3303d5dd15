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
    """Pays for stepping out of the known: where RND's novelty rises, once an episode.

    docs/methods/noveld.md tells the whole of it; `Rnd`, how it learns.

    Args:
        observation_space: as `Rnd`'s.
        action_space: of any kind, it is not read.
        alpha: the share of the novelty of the state left that is taken off.
        loss_coef: as `Rnd`'s.

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
        """The rise of novelty of each transition, [T, B]; 0 where it is none and at padding."""
        novelty, novelty_next = transitions.embed(self.novelty)  # [n] each
        n_ep = transitions.pack(transitions.episodic_counts)  # [n]
        return transitions.unpack(bonuses.noveld(novelty, novelty_next, n_ep, alpha=self.alpha))
