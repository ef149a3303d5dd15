"""Limits how often a failed trial is retried from its last checkpoint."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ray.tune import Callback

if TYPE_CHECKING:
    from ray.tune import Checkpoint
    from ray.tune.experiment import Trial as TuneTrial

MAX_FAILURES = 3
"""Retries of a trial between two checkpoints, for Tune's `FailureConfig`."""

HOPELESS = "hopeless"
"""Key in a result: the next step raises an error that a retry would not help."""


NEW_EPISODES = "new_episodes"
"""Key in a trial's config: whether it begins new episodes when it resumes from a checkpoint."""


class RetryCallback(Callback):
    """Counts failures since the last checkpoint only: spot machines may fail any number of times.

    A checkpoint without new frames does not reset the count: a trial whose EnvRunners always fail
    saves checkpoints too.

    A trial that fails before its first result gets one retry, since an error in its code would
    recur. A retry begins new episodes, so as not to repeat the failure.
    """

    def __init__(self) -> None:
        self._reported: set[str] = set()
        self._saved_frames: dict[str, int] = {}

    def on_trial_start(
        self, iteration: int, trials: list[TuneTrial], trial: TuneTrial, **info: Any
    ) -> None:
        """Resets the count when a person resumes a failed trial."""
        if trial.num_failures > MAX_FAILURES:
            trial.run_metadata.num_failures = 0

    def on_trial_result(
        self,
        iteration: int,
        trials: list[TuneTrial],
        trial: TuneTrial,
        result: dict[str, Any],
        **info: Any,
    ) -> None:
        """Notes that the trial trains, or makes its next failure its last."""
        self._reported.add(trial.trial_id)
        if result.get(HOPELESS):
            trial.run_metadata.num_failures = MAX_FAILURES

    def on_checkpoint(
        self,
        iteration: int,
        trials: list[TuneTrial],
        trial: TuneTrial,
        checkpoint: Checkpoint,
        **info: Any,
    ) -> None:
        """Resets the count if the trial has new frames: it is past the failure."""
        frames = trial.last_result.get("frames", 0)
        if frames <= self._saved_frames.get(trial.trial_id, -1):
            return
        self._saved_frames[trial.trial_id] = frames
        trial.run_metadata.num_failures = 0
        trial.set_config({**trial.config, NEW_EPISODES: False})

    def on_trial_recover(
        self, iteration: int, trials: list[TuneTrial], trial: TuneTrial, **info: Any
    ) -> None:
        """Makes this retry the last one if the trial has not reported since it started."""
        if trial.trial_id not in self._reported:
            trial.run_metadata.num_failures = MAX_FAILURES
        self._reported.discard(trial.trial_id)
        trial.set_config({**trial.config, NEW_EPISODES: True})
