"""A Learner that logs how many transitions it has trained on, and when."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ray.rllib.algorithms.algorithm_config import AlgorithmConfig
from ray.rllib.core import DEFAULT_MODULE_ID
from ray.rllib.core.columns import Columns
from ray.rllib.utils.metrics import LEARNER_RESULTS
from torch import Tensor

from rllib_ride.rllib.learner import IntrinsicIMPALALearner

_FRAMES = "bench_frames_trained_lifetime"
_FIRST_UPDATE_AT = "bench_first_update_at"
_LAST_UPDATE_AT = "bench_last_update_at"


class TimedLearner(IntrinsicIMPALALearner):
    """Counts the transitions that the policy's loss sees.

    RLlib's own `num_module_steps_trained` also counts the bootstrap step of each row, and its
    `num_env_steps_trained` counts the whole batch for each minibatch.
    """

    def build(self) -> None:
        """Builds the Learner as usual."""
        self._first_update_at: float | None = None
        super().build()

    def compute_loss_for_module(
        self,
        *,
        module_id: str,
        config: AlgorithmConfig,
        batch: dict[str, Any],
        fwd_out: dict[str, Any],
    ) -> Tensor:
        """Computes the loss as usual, and counts transitions: where the loss mask is True."""
        if module_id == DEFAULT_MODULE_ID:
            transitions = int(batch[Columns.LOSS_MASK].sum())
            self.metrics.log_value(_FRAMES, transitions, reduce="lifetime_sum")
        return super().compute_loss_for_module(
            module_id=module_id, config=config, batch=batch, fwd_out=fwd_out
        )

    def after_gradient_based_update(self, *, timesteps: dict[str, Any]) -> None:
        """Logs the times of the first and of the latest update."""
        super().after_gradient_based_update(timesteps=timesteps)
        now = time.time()
        if self._first_update_at is None:
            self._first_update_at = now
        self.metrics.log_value(_FIRST_UPDATE_AT, self._first_update_at, reduce="min")
        self.metrics.log_value(_LAST_UPDATE_AT, now, reduce="max")


@dataclass(frozen=True)
class Trained:
    """The counts and times of a `TimedLearner` at its last update.

    Attributes:
        frames: Transitions it has trained on; with two epochs, each counts twice.
        first_update_at: When its first update was done, in seconds since the epoch.
        last_update_at: When its last update was done, in seconds since the epoch.
    """

    frames: int
    first_update_at: float
    last_update_at: float

    @classmethod
    def of(cls, result: Mapping[str, Any]) -> Trained | None:
        """Reads a result of `Algorithm.train()`; None if there was no update yet."""
        logged = result.get(LEARNER_RESULTS, {})
        if _FRAMES not in logged:
            return None
        return cls(
            frames=int(logged[_FRAMES]),
            first_update_at=float(logged[_FIRST_UPDATE_AT]),
            last_update_at=float(logged[_LAST_UPDATE_AT]),
        )
