"""Trains trials side by side for a while, as `rllib-ride run` does, and times them.

As in `run`, one Ray serves all trials, and each trial is an actor with the cores that RLlib
requests. There are no checkpoints, and no Tune loop, which is nearly idle in the command's process.
Iterations of two seconds, and what they log, are those of `run`.
"""

from __future__ import annotations

import math
import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import ray
from ray.rllib.utils.metrics import NUM_ENV_STEPS_SAMPLED_LIFETIME

from rllib_ride.experiments.bench.learner import TimedLearner, Trained
from rllib_ride.experiments.bench.memory import PeakMemory
from rllib_ride.experiments.build import algorithm_class, algorithm_config, resource_request
from rllib_ride.experiments.connect import start_here, stop_ray
from rllib_ride.experiments.quiet import quiet_ray
from rllib_ride.experiments.trial import Trial
from rllib_ride.machine import num_cores

_WARM_UP_S = 5.0


@dataclass(frozen=True)
class TrialRate:
    """The speed of one trial.

    Attributes:
        fps: Transitions per second that it trained on, between two of its updates.
        fps_sampled: Transitions per second that its EnvRunners sampled.
        frames: Transitions it trained on between the two updates.
        seconds: Seconds between the two updates.
        first_update_at: When its first update was done, in seconds since the epoch.
    """

    fps: float
    fps_sampled: float
    frames: int
    seconds: float
    first_update_at: float


@dataclass(frozen=True)
class Measurement:
    """The speed and memory of trials side by side.

    Attributes:
        trials: The speed of each trial.
        time_to_first_update_s: Seconds until every trial had done an update.
        peak_rss_mb: Peak memory of this process and its descendants without the object store, MiB.
    """

    trials: list[TrialRate]
    time_to_first_update_s: float
    peak_rss_mb: float

    @property
    def fps(self) -> float:
        """Transitions per second that all trials together trained on."""
        return sum(trial.fps for trial in self.trials)

    @property
    def fps_sampled(self) -> float:
        """Transitions per second that all trials together sampled."""
        return sum(trial.fps_sampled for trial in self.trials)


def train(
    trials: Sequence[Trial], seconds: float, *, started_at: float | None = None
) -> Measurement:
    """Trains trials side by side in a running Ray, and measures them.

    Args:
        trials: Trials whose preset's algorithm is IMPALA.
        seconds: Seconds to measure, after a warm-up of as long but at most 5 seconds.
        started_at: Start of the time to the first update, in seconds since the epoch; None: now.
    """
    started_at = time.time() if started_at is None else started_at
    requests = [dict(resource_request(algorithm_config(trial)).bundles[0]) for trial in trials]
    with PeakMemory() as memory:
        actors: list[Any] = [
            ray.remote(_TrainingTrial)
            .options(num_cpus=request.get("CPU", 0), num_gpus=request.get("GPU", 0))
            .remote(trial)
            for trial, request in zip(trials, requests, strict=True)
        ]
        ray.get([actor.warm_up.remote(min(_WARM_UP_S, seconds)) for actor in actors])
        rates = ray.get([actor.measure.remote(seconds) for actor in actors])
        ray.get([actor.stop.remote() for actor in actors])
    first = max(rate.first_update_at for rate in rates)
    return Measurement(rates, first - started_at, memory.peak_mb)


@contextmanager
def local_ray(trials: Sequence[Trial]) -> Iterator[None]:
    """A Ray on this machine alone, as `rllib-ride run` starts it.

    Args:
        trials: Trials that will run in it side by side. They may request more cores than there are;
            the measurement then shows how processes share the cores.

    Raises:
        ConfigError: A trial's config is invalid, or Ray does not start.
    """
    quiet_ray()
    cpus = sum(
        resource_request(algorithm_config(trial)).required_resources["CPU"] for trial in trials
    )
    start_here(has_dashboard=False, num_cpus=max(num_cores(), math.ceil(cpus)))
    try:
        yield
    finally:
        stop_ray()


class _TrainingTrial:
    """The actor that trains one trial in its own process."""

    def __init__(self, trial: Trial) -> None:
        quiet_ray()
        config = algorithm_config(trial)
        config.learners(learner_class=TimedLearner)
        self._epochs = config.num_epochs
        self._algorithm = algorithm_class(config)(config=config)

    def warm_up(self, seconds: float) -> None:
        """Trains until `seconds` after the first update."""
        while True:
            now, _ = self._iterate()
            if now is not None and now.last_update_at - now.first_update_at >= seconds:
                return

    def measure(self, seconds: float) -> TrialRate:
        """Trains for `seconds` more, and returns how fast."""
        start = time.time()
        before, sampled_before = self._iterate()
        sampled_from = time.time()
        assert before is not None
        while True:
            now, sampled = self._iterate()
            sampled_to = time.time()
            assert now is not None
            if now.last_update_at > before.last_update_at and sampled_to - start >= seconds:
                break
        # Trials stop some tenths of a second apart. One iteration more keeps all cores loaded until
        # every trial has been measured.
        self._iterate()
        elapsed = now.last_update_at - before.last_update_at
        frames = (now.frames - before.frames) // self._epochs
        return TrialRate(
            fps=frames / elapsed,
            fps_sampled=(sampled - sampled_before) / (sampled_to - sampled_from),
            frames=frames,
            seconds=elapsed,
            first_update_at=now.first_update_at,
        )

    def stop(self) -> None:
        """Stops the algorithm and deletes its folder."""
        self._algorithm.stop()
        shutil.rmtree(self._algorithm.logdir, ignore_errors=True)

    def _iterate(self) -> tuple[Trained | None, int]:
        """Runs one iteration; returns what was trained on, and the transitions sampled, so far."""
        result: dict[str, Any] = self._algorithm.train()
        return Trained.of(result), int(result[NUM_ENV_STEPS_SAMPLED_LIFETIME])
