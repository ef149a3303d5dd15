"""Trials trained side by side for a while, as `rllib-ride run` trains them, and timed.

One Ray for all, and an actor a trial with the cores that RLlib asks for: what `run` has, but for
checkpoints and for Tune's loop, which is in the command's process and next to idle. The iterations
of two seconds, and what is logged in them, are those of `run`.
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
from rllib_ride.experiments.connect import start_here
from rllib_ride.experiments.quiet import quiet_ray
from rllib_ride.experiments.trial import Trial
from rllib_ride.machine import num_cores

_WARM_UP_S = 5.0


@dataclass(frozen=True)
class TrialRate:
    """Of one trial.

    Attributes:
        fps: Transitions a second that it trained on, from one update to another.
        fps_sampled: Transitions a second that its EnvRunners gave.
        frames: Transitions trained on in that time.
        seconds: Between the two updates.
        first_update_at: When its first update was done, in seconds since the epoch.
    """

    fps: float
    fps_sampled: float
    frames: int
    seconds: float
    first_update_at: float


@dataclass(frozen=True)
class Measurement:
    """Of trials side by side.

    Attributes:
        trials: Each.
        time_to_first_update_s: Until every trial had done an update.
        peak_rss_mb: Most memory of this process and all that it started, object store left out.
    """

    trials: list[TrialRate]
    time_to_first_update_s: float
    peak_rss_mb: float

    @property
    def fps(self) -> float:
        """Of all trials together."""
        return sum(trial.fps for trial in self.trials)

    @property
    def fps_sampled(self) -> float:
        """Of all trials together."""
        return sum(trial.fps_sampled for trial in self.trials)


def train(
    trials: Sequence[Trial], seconds: float, *, started_at: float | None = None
) -> Measurement:
    """Trains trials side by side, in a running Ray, and measures.

    Args:
        trials: With the preset's algorithm, IMPALA.
        seconds: How long to measure, after each trial has trained for as long or for 5 seconds.
        started_at: From when the time to the first update counts, in seconds since the epoch;
            None: from now.
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
        trials: Which will run in it side by side. They may ask for more cores than there are: it is
            then measured how processes share them.

    Raises:
        ConfigError: If a trial's config is refused, or Ray does not start.
    """
    quiet_ray()
    cpus = sum(
        resource_request(algorithm_config(trial)).required_resources["CPU"] for trial in trials
    )
    start_here(has_dashboard=False, num_cpus=max(num_cores(), math.ceil(cpus)))
    try:
        yield
    finally:
        ray.shutdown()


class _TrainingTrial:
    """A trial in a process of its own."""

    def __init__(self, trial: Trial) -> None:
        quiet_ray()
        config = algorithm_config(trial)
        config.learners(learner_class=TimedLearner)
        self._epochs = config.num_epochs
        self._algorithm = algorithm_class(config)(config=config)

    def warm_up(self, seconds: float) -> None:
        """Trains for some seconds after the first update."""
        while True:
            now, _ = self._iterate()
            if now is not None and now.last_update_at - now.first_update_at >= seconds:
                return

    def measure(self, seconds: float) -> TrialRate:
        """Trains for some seconds more, and tells how fast."""
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
        # Trials side by side end some tenths of a second apart: none is to end alone.
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
        """Ends the algorithm, and leaves nothing behind in its folder."""
        self._algorithm.stop()
        shutil.rmtree(self._algorithm.logdir, ignore_errors=True)

    def _iterate(self) -> tuple[Trained | None, int]:
        """One iteration; what was trained on, and sampled, so far."""
        result: dict[str, Any] = self._algorithm.train()
        return Trained.of(result), int(result[NUM_ENV_STEPS_SAMPLED_LIFETIME])
