"""Count: a bonus from state visits over all of training (a baseline of RIDE, ICLR 2020)."""

from __future__ import annotations

from typing import ClassVar

import gymnasium as gym
import numpy as np
import torch
from torch import Tensor

from rllib_ride.intrinsic import bonuses
from rllib_ride.intrinsic.method import IntrinsicMethod
from rllib_ride.intrinsic.transitions import Transitions
from rllib_ride.intrinsic.visit_table import VisitTable


class Count(IntrinsicMethod):
    """Rewards states that training has rarely reached, over all episodes and environments.

    Nothing is learned, so there are no networks; the visits are in `state_dict`.
    See docs/methods/count.md.

    Args:
        observation_space: any; not used.
        action_space: any; not used.
    """

    needs_state_keys: ClassVar[bool] = True

    def __init__(self, observation_space: gym.Space, action_space: gym.Space) -> None:
        super().__init__(observation_space, action_space)
        self._visits = VisitTable()
        self._last_keys = np.zeros(0, np.int64)  # the states that the last `bonus` counted

    @torch.no_grad()
    def bonus(self, transitions: Transitions) -> Tensor:
        """1 / sqrt(N) of each transition, [T, B]; 0 at padding.

        Counts the visits first, in order of time: calling this twice counts them twice.
        """
        keys = transitions.pack(transitions.state_keys)  # [n]
        self._last_keys = keys.numpy(force=True)
        n = torch.from_numpy(self._visits.visit(self._last_keys))  # [n]
        return transitions.unpack(bonuses.count(n.to(keys.device)))

    def loss(self, transitions: Transitions) -> tuple[Tensor, dict[str, Tensor]]:
        """0: nothing is learned. Logs `visited_states`, the number of distinct states counted."""
        device = transitions.mask.device
        visited_states = torch.tensor(float(len(self._visits)), device=device)
        return torch.zeros((), device=device), {"visited_states": visited_states}

    def take_back(self) -> None:
        """Removes the visits that the last `bonus` counted from the table."""
        self._visits.take_back(self._last_keys)
        self._last_keys = self._last_keys[:0]

    def get_extra_state(self) -> Tensor:
        """The visits, for `state_dict`. A buffer would not do: load_state_dict fixes its size."""
        return torch.from_numpy(self._visits.entries())

    def set_extra_state(self, state: Tensor) -> None:
        """Replaces the visits by those of a state dict."""
        self._visits.load(state.numpy(force=True))
