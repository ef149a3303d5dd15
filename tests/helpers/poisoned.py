"""A method whose bonus, loss or gradient is not finite if a test asks for it."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from rllib_ride.intrinsic import IntrinsicMethod, Transitions

METHOD = "helpers.registers_poisoned:poisoned"


class Poisoned(IntrinsicMethod):
    """Rewards each step with 1. `where` says what is poisoned, `poison` is the number put there.

    Args:
        observation_space: Any.
        action_space: Any.
        good_batches: Number of batches after which the bonus is poisoned whatever `where` says.
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
        if self.where == "gradient":  # sqrt(0) is 0, its gradient is not finite
            loss = loss + (0.0 * weight).abs().sqrt() * 0.0
        return loss, {"scale_loss": loss.detach()}
