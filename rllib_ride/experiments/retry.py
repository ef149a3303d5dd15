"""How often a trial that fails is tried again, from its last checkpoint."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ray.tune import Callback

if TYPE_CHECKING:
    from ray.tune import Checkpoint
    from ray.tune.experiment import Trial as TuneTrial

MAX_FAILURES = 3
"""Retries of a trial between two checkpoints, for Tune's `FailureConfig`."""

HOPELESS = "hopeless"
"""In a result: what comes next is an error that a retry would not help."""


NEW_EPISODES = "new_episodes"
"""In a trial's config: whether it is to take other steps than those since its checkpoint."""


class RetryCallback(Callback):
    """Counts failures from the last checkpoint on: a day on spot machines may have any number.

    A checkpoint of no more frames than the one before does not count: a trial whose EnvRunners only
    fail saves too.

    A trial that fails before its first result has one retry: an error in its code comes again. One
    that has failed since its checkpoint begins new episodes, or it would come to the same failure.
    """

    def __init__(self) -> None:
        self._reported: set[str] = set()
        self._saved_frames: dict[str, int] = {}

    def on_trial_start(
        self, iteration: int, trials: list[TuneTrial], trial: TuneTrial, **info: Any
    ) -> None:
        """Begins to count anew where a failed trial is resumed by a person."""
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
        """Notes that the trial does train, or that its next failure is its last."""
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
        """Begins to count anew if the trial has got on: it is past the failure."""
        frames = trial.last_result.get("frames", 0)
        if frames <= self._saved_frames.get(trial.trial_id, -1):
            return
        self._saved_frames[trial.trial_id] = frames
        trial.run_metadata.num_failures = 0
        trial.set_config({**trial.config, NEW_EPISODES: False})

    def on_trial_recover(
        self, iteration: int, trials: list[TuneTrial], trial: TuneTrial, **info: Any
    ) -> None:
        """Makes this retry the last one of a trial that has told nothing since it started."""
        if trial.trial_id not in self._reported:
            trial.run_metadata.num_failures = MAX_FAILURES
        self._reported.discard(trial.trial_id)
        trial.set_config({**trial.config, NEW_EPISODES: True})
