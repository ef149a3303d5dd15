"""A Learner that applies no update in which a loss, the bonus or a gradient is not finite."""

from __future__ import annotations

import logging
import math
from collections.abc import Iterator, Mapping
from typing import Any

import torch
from ray.rllib.core import DEFAULT_MODULE_ID
from torch import Tensor

from rllib_ride.rllib.nonfinite import NonFiniteError, causes, folder_of, is_finite, save_batch
from rllib_ride.rllib.ray_internals import LearnerInternals
from rllib_ride.rllib.settings import (
    INTRINSIC_MODULE_ID,
    PARTS_OF_LOSS,
    SKIPPED_UPDATES,
    IntrinsicSettings,
)

MOST_SKIPPED_IN_A_ROW = 100
"""Consecutive batches without an applied update after which training stops even on `"skip"`."""

logger = logging.getLogger(__name__)


class FiniteUpdates(LearnerInternals):
    """Stops training or skips the update if a loss, the bonus or a gradient is not finite.

    RLlib checks each gradient twice, sets NaN to 0 and continues. This class checks one sum of all
    values, which takes one device synchronization per update. It searches for the source only if
    that sum is not finite.
    """

    def build(self) -> None:
        """Builds as usual."""
        self._settings = IntrinsicSettings.of(self.config)
        self.config.torch_skip_nan_gradients = True  # disables RLlib's own gradient checks
        self._bonus_mean: Tensor | float = 0.0
        self._num_applied = self._num_skipped = 0  # updates with this batch
        self._skipped_in_a_row = 0  # batches
        super().build()

    def note_bonus(self, mean: Tensor) -> None:
        """Records the mean bonus of this update's batch, a scalar, for the check."""
        self._bonus_mean = mean

    def take_back_batch(self) -> None:
        """Called if no update with a batch was applied."""

    def _update(self, batch: dict[str, Any]) -> tuple[Any, Any, Any]:
        self._batch = batch
        return super()._update(batch)

    def compute_gradients(self, loss_per_module: dict[str, Any], **kwargs: Any) -> dict[Any, Any]:
        """As RLlib's; keeps the losses for the check."""
        self._losses = loss_per_module
        return super().compute_gradients(loss_per_module, **kwargs)

    def apply_gradients(self, gradients_dict: dict[Any, Any]) -> None:
        """As RLlib's, if all numbers of this update are finite; otherwise stops or skips.

        Raises:
            NonFiniteError: If they are not and `on_nonfinite` is `"stop"`.
        """
        if math.isfinite(self._sum_of_all(gradients_dict)):
            super().apply_gradients(gradients_dict)
            self._num_applied += 1
            return
        self._num_skipped += 1
        message = self._report(gradients_dict)
        if self._settings.on_nonfinite == "stop":
            self._end_batch()
            raise NonFiniteError(f"{message}, or set on_nonfinite to 'skip'")
        logger.warning(message)

    def after_gradient_based_update(self, *, timesteps: dict[str, Any]) -> None:
        """As RLlib's; logs how many updates with this batch were skipped.

        Raises:
            NonFiniteError: If no update was applied for `MOST_SKIPPED_IN_A_ROW` batches.
        """
        super().after_gradient_based_update(timesteps=timesteps)
        key = (DEFAULT_MODULE_ID, SKIPPED_UPDATES)
        self.metrics.log_value(key, self._num_skipped, reduce="lifetime_sum")
        self._end_batch()
        if self._skipped_in_a_row >= MOST_SKIPPED_IN_A_ROW:
            raise NonFiniteError(
                f"update {self.num_updates}: the last {MOST_SKIPPED_IN_A_ROW} batches had numbers "
                f"that are not finite, so nothing is learned any more; the first such batches are "
                f"in {folder_of(self.config)}"
            )

    def _end_batch(self) -> None:
        if self._num_skipped and not self._num_applied:
            self.take_back_batch()
            self._skipped_in_a_row += 1
        else:
            self._skipped_in_a_row = 0
        self._num_applied = self._num_skipped = 0

    def _sum_of_all(self, gradients: Mapping[Any, Tensor | None]) -> float:
        """A number that is finite if losses, bonus and gradients are, the same on all Learners.

        All Learners must stop or skip together to keep their weights identical.
        """
        present = [gradient for gradient in gradients.values() if gradient is not None]
        total = torch.nn.utils.get_total_norm(present).to(self.device) + self._bonus_mean
        for loss in self._losses.values():
            total = total + loss.detach()
        if self.distributed:
            torch.distributed.all_reduce(total)
        return float(total)

    def _report(self, gradients: Mapping[Any, Tensor | None]) -> str:
        """Saves the batch; returns one line: what is not finite, the batch's file, and a hint."""
        found = [*self._causes(), *self._effects(gradients)]
        if not found:  # only another Learner's numbers are not finite
            found = [("a number of another Learner", "look for its message")]
        names = list(dict.fromkeys(name for name, _ in found))
        learner = f"_learner{torch.distributed.get_rank()}" if self.distributed else ""
        kept = save_batch(
            folder_of(self.config) / f"nonfinite_{self.num_updates}{learner}.pt",
            {
                "update": self.num_updates,
                "not_finite": names,
                "losses": self._losses,
                "batch": self._batch,
            },
        )
        and_so = f" (and so {', '.join(names[1:])})" if names[1:] else ""
        return (
            f"update {self.num_updates} was not applied: not finite: {names[0]}{and_so}; its batch "
            f"{kept}; {found[0][1]}"
        )

    def _causes(self) -> Iterator[tuple[str, str]]:
        """Non-finite inputs of the losses, each with a hint."""
        weights = {
            name: optimizer.param_groups[0]["params"] for name, optimizer in self._networks()
        }
        return causes(self._batch, weights, self._settings.method)

    def _effects(self, gradients: Mapping[Any, Tensor | None]) -> Iterator[tuple[str, str]]:
        """Non-finite losses (by their parts where those are logged) and gradients, with a hint."""
        hint = "lower the learning rate, or set 'grad_clip'"
        for module_id, loss in self._losses.items():
            if not is_finite(loss):
                yield from ((part, hint) for part in self._parts(module_id))
        for name, optimizer in self._networks():
            of_network = self.filter_param_dict_for_optimizer(gradients, optimizer)
            if not is_finite(list(of_network.values())):
                yield f"the gradient of {name}", hint

    def _parts(self, module_id: str) -> list[str]:
        """The parts of a module's loss that are not finite, from its latest logged metrics."""
        logged = self.metrics.peek(module_id, default={})
        wrong = [name for name, value in logged.items() if not is_finite(value)]
        if module_id == INTRINSIC_MODULE_ID:
            of_method = f"of method {self._settings.method!r}"
            own = (name for name in wrong if name.endswith("_loss") and name != self.TOTAL_LOSS_KEY)
            return [f"{name} {of_method}" for name in own] or [f"the loss {of_method}"]
        parts = [PARTS_OF_LOSS[name] for name in wrong if name in PARTS_OF_LOSS]
        return [f"the {part.replace('_', ' ')}" for part in parts] or ["the policy's loss"]

    def _networks(self) -> Iterator[tuple[str, torch.optim.Optimizer]]:
        """Each network's name, for messages, and its optimizer."""
        for module_id in self.module.keys():  # noqa: SIM118  (no dict)
            for name, optimizer in self.get_optimizers_for_module(module_id):
                of_method = f"{name!r} of method {self._settings.method!r}"
                yield of_method if module_id == INTRINSIC_MODULE_ID else "the policy", optimizer
