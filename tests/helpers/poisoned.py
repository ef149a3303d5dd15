"""A method whose bonus, loss or gradient is not finite when a test wants it so."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from rllib_ride.intrinsic import IntrinsicMethod, Transitions

METHOD = "helpers.registers_poisoned:poisoned"


class Poisoned(IntrinsicMethod):
    """Pays 1 a step; `poison` is the number that comes instead, and `where` what it is put into.

    Args:
        observation_space: Any.
        action_space: Any.
        good_batches: Until the bonus is poisoned by itself.
    """

    where: str | None = None
    poison = float("nan")

    def __init__(
        self, observation_space: Any, action_space: Any, good_batches: float = float("inf")
    ) -> None:
        super().__init__(observation_space, action_space)
        self.scale = torch.nn.Linear(1, 1)
        self._good_batches = good_batches

    def bonus(self, transitions: Transitions) -> Tensor:
        bonus = transitions.mask.float()
        self._good_batches -= 1
        if self.where == "bonus" or self._good_batches < 0:
            first = transitions.mask.nonzero()[0]
            bonus[tuple(first)] = self.poison
        return bonus

    def loss(self, transitions: Transitions) -> tuple[Tensor, dict[str, Tensor]]:
        weight = self.scale.weight.sum()
        loss = weight.square()
        if self.where == "loss":
            loss = loss * self.poison
        if self.where == "gradient":  # the root of 0 is 0, its slope is not
            loss = loss + (0.0 * weight).abs().sqrt() * 0.0
        return loss, {"scale_loss": loss.detach()}
