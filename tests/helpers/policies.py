"""Policies with predictable outputs, recurrent and not."""

from __future__ import annotations

from typing import Any

import torch
from ray.rllib.core.columns import Columns
from ray.rllib.core.rl_module.apis import ValueFunctionAPI
from ray.rllib.core.rl_module.torch.torch_rl_module import TorchRLModule

_SURE = 50.0  # a logit with which the action is practically certain


class FeedForward(TorchRLModule, ValueFunctionAPI):
    """Takes action x % A, where x is the last number in the first row of an observation.

    The value is `2 * x`: it is known, and still has a parameter to learn.
    """

    def setup(self) -> None:
        self.weight = torch.nn.Parameter(torch.tensor(2.0))

    def _forward(self, batch: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
        return {Columns.ACTION_DIST_INPUTS: self._logits(self.x(batch))}

    def compute_values(self, batch: dict[str, Any], embeddings: Any = None) -> torch.Tensor:
        return self.weight * self.x(batch)

    def x(self, batch: dict[str, Any]) -> torch.Tensor:
        """x, `[...]`, of observations `[..., n]` or `[..., H, W, C]`."""
        assert self.observation_space is not None and self.observation_space.shape is not None
        obs = batch[Columns.OBS].float()
        for _ in self.observation_space.shape[:-1]:
            obs = obs[..., 0, :]
        return obs[..., -1]

    def _logits(self, number: torch.Tensor) -> torch.Tensor:
        num_actions = int(self.action_space.n)  # type: ignore[union-attr]
        return _SURE * torch.nn.functional.one_hot(number.long() % num_actions, num_actions).float()


class StepCounter(FeedForward):
    """Takes action n % A, where n is the episode's number of steps so far, its state `[B, 1]`.

    The value is `2 * x + n`.
    """

    def get_initial_state(self) -> dict[str, torch.Tensor]:
        return {"n": torch.zeros(1)}

    def _forward(self, batch: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
        n = self.n(batch)
        return {
            Columns.ACTION_DIST_INPUTS: self._logits(n),
            Columns.STATE_OUT: {"n": n[:, -1:] + 1},
        }

    def compute_values(self, batch: dict[str, Any], embeddings: Any = None) -> torch.Tensor:
        return super().compute_values(batch) + self.n(batch)

    def n(self, batch: dict[str, Any]) -> torch.Tensor:
        """n at each step, `[B, T]`."""
        return batch[Columns.STATE_IN]["n"] + torch.arange(self.x(batch).shape[1])


class OwnChoice(FeedForward):
    """Returns actions instead of logits: always the last one, with a log-probability of -0.25."""

    def _forward(self, batch: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
        shape = self.x(batch).shape  # [N], or [N, 1]
        last = int(self.action_space.n) - 1  # type: ignore[union-attr]
        return {
            Columns.ACTIONS: torch.full(shape, last),
            Columns.ACTION_LOGP: torch.full(shape, -0.25),
        }


class RecurrentOwnChoice(OwnChoice, StepCounter):
    """Returns `OwnChoice`'s actions and `StepCounter`'s logits, which would give other actions."""

    def _forward(self, batch: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
        return StepCounter._forward(self, batch) | OwnChoice._forward(self, batch)


class UnknownChoice(OwnChoice):
    """`OwnChoice` without a log-probability."""

    def _forward(self, batch: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
        return {Columns.ACTIONS: super()._forward(batch)[Columns.ACTIONS]}


class Indifferent(TorchRLModule, ValueFunctionAPI):
    """Acts uniformly at random on any Dict observation with an image `view`."""

    def setup(self) -> None:
        self.weight = torch.nn.Parameter(torch.zeros(int(self.action_space.n)))  # type: ignore[union-attr]

    def _forward(self, batch: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
        view = batch[Columns.OBS]["view"]  # [..., H, W, C]
        return {Columns.ACTION_DIST_INPUTS: self.weight.expand(*view.shape[:-3], -1)}

    def compute_values(self, batch: dict[str, Any], embeddings: Any = None) -> torch.Tensor:
        return self.weight[0].expand(batch[Columns.OBS]["view"].shape[:-3])
