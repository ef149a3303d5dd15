"""Tune's trainable for a trial: RLlib's algorithm, stopped by frames and checkpointed by time."""

from __future__ import annotations

import math
import time
from pathlib import Path
from typing import Any

from ray.tune import Trainable
from ray.tune.execution.placement_groups import PlacementGroupFactory
from ray.tune.result import DONE, SHOULD_CHECKPOINT

from rllib_ride.experiments.build import algorithm_class, algorithm_config, resource_request
from rllib_ride.experiments.checkpoints import identity, seal
from rllib_ride.experiments.last_episodes import LastEpisodes
from rllib_ride.experiments.progress import Progress
from rllib_ride.experiments.retry import HOPELESS, NEW_EPISODES
from rllib_ride.experiments.steady_memory import give_back_memory
from rllib_ride.experiments.trial import Trial
from rllib_ride.rllib.nonfinite import NonFiniteError, keep_batches_in
from rllib_ride.rllib.running import load_running, save_running
from rllib_ride.rllib.weights import save_weights
from rllib_ride.seal import check_seal, verified
from rllib_ride.wording import last_line


class TrialTrainable(Trainable):
    """Trains the trial in `config["trial"]` with RLlib's algorithm.

    Tune's param space then holds a few plain values per trial, not an RLlib config of hundreds.
    Checkpoints are RLlib's own, so that `Algorithm.from_checkpoint` reads them.

    `config["new_episodes"]` is set for a trial that has failed: it resumes from its checkpoint with
    new episodes, so as not to repeat the steps that led to the failure.
    """

    def __init__(self, config: dict[str, Any], storage: Any = None) -> None:
        self._trial_storage = storage
        super().__init__(config, storage=storage)

    @classmethod
    def default_resource_request(cls, config: dict[str, Any]) -> PlacementGroupFactory:
        """RLlib's request: one CPU for a trial with neither EnvRunner nor Learner actors."""
        return resource_request(algorithm_config(Trial(**config["trial"])))

    def setup(self, config: dict[str, Any]) -> None:
        """Builds the algorithm; Tune calls this in the trial's own process."""
        self._trial = Trial(**config["trial"])
        rllib = algorithm_config(self._trial)
        if self._trial_storage is not None:
            keep_batches_in(rllib, self._trial_storage.trial_fs_path)
        # Given Tune's storage, the algorithm makes no folder of its own under ~/ray_results.
        self._algorithm = algorithm_class(rllib)(config=rllib, storage=self._trial_storage)
        self._last_episodes = LastEpisodes()
        self._saved_at = time.monotonic()
        self._hopeless: str | None = None

    def step(self) -> dict[str, Any]:
        """Runs one iteration; ends the trial at its frames, or once it is solved.

        The result is RLlib's, with `frames` and `return_mean` at the top level for schedulers.

        Raises:
            NonFiniteError: A value is not finite, and the trial is set to stop then. The call
                before repeats the last result, marked as hopeless, so that Tune does not retry.
        """
        if self._hopeless is not None:
            raise NonFiniteError(self._hopeless)
        try:
            result = self._algorithm.train()
        except NonFiniteError as error:
            self._hopeless = last_line(error)  # a remote Learner's error has a traceback
            last = self._last_result or {"frames": 0, "return_mean": math.nan}
            return {**last, HOPELESS: True, DONE: False, SHOULD_CHECKPOINT: False}
        self._last_episodes.update(result)
        result.pop("config", None)  # hundreds of keys in every line of Tune's result.json
        now = Progress.of(result)
        result["frames"], result["return_mean"] = now.frames, now.return_mean
        result[DONE] = now.frames >= self._trial.frames or now.solves(self._trial)
        result[SHOULD_CHECKPOINT] = (
            time.monotonic() - self._saved_at >= self._trial.checkpoint_every_s
        )
        return result

    def save_checkpoint(self, checkpoint_dir: str) -> None:
        """Saves the algorithm in RLlib's own layout, its weights a second time, and a seal."""
        self._algorithm.save_to_path(checkpoint_dir)
        self._last_episodes.save(checkpoint_dir)
        save_weights(self._algorithm, checkpoint_dir)
        save_running(self._algorithm, checkpoint_dir)
        seal(checkpoint_dir, self._last_result or {}, **identity(self._trial, self._algorithm))
        give_back_memory()
        self._saved_at = time.monotonic()

    def load_checkpoint(self, checkpoint: Any) -> None:
        """Restores weights, optimizers, schedules, frames and episodes from a checkpoint's folder.

        Raises:
            SealError: The checkpoint is not whole, of a newer format, or of another method,
                environment, spaces or networks.
        """
        folder = Path(checkpoint)
        check_seal(folder, verified(folder), identity(self._trial, self._algorithm))
        self._algorithm.restore_from_path(checkpoint)
        if not self.config.get(NEW_EPISODES):
            load_running(self._algorithm, checkpoint)
        self._last_episodes.load(checkpoint)

    def cleanup(self) -> None:
        """Ends the algorithm's actors and threads."""
        self._algorithm.stop()
