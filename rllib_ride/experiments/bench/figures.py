"""Computes the figures that `rllib-ride bench` prints."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from ray.rllib.algorithms.impala import IMPALAConfig

from rllib_ride.envs.registration import is_minigrid
from rllib_ride.experiments.bench.hand_loop import METHODS, hand_loop_script, run_hand_loop
from rllib_ride.experiments.bench.stages import measure_stages
from rllib_ride.experiments.bench.train import local_ray, train
from rllib_ride.experiments.build import algorithm_config
from rllib_ride.experiments.errors import ConfigError
from rllib_ride.experiments.record import made_with
from rllib_ride.experiments.trial import Trial
from rllib_ride.machine import num_cores

_SECONDS_A_STAGE = 5.0


def bench(trials: Sequence[Trial], seconds: float, *, started_at: float) -> dict[str, Any]:
    """Trains the trials side by side, then measures the parts of one alone.

    Args:
        trials: Trials that only differ in their seed.
        seconds: Seconds to train, after warming up.
        started_at: Start of the time to the first update, in seconds since the epoch.

    Returns:
        A JSON-serializable dict. Rates are per second: `fps` and `fps_sampled` are those of all
        trials together, end to end; `trials` has each trial's; `stages` are `StageRates`, on one
        core.

    Raises:
        ConfigError: The trials' config is invalid, or is not IMPALA's.
    """
    first = trials[0]
    config = algorithm_config(first)
    if not isinstance(config, IMPALAConfig):
        raise ConfigError(
            f"bench measures IMPALA, and {first.preset!r} with these settings trains with "
            f"{type(config).__name__.removesuffix('Config')}; expected a preset of IMPALA, such as "
            "'tuned'"
        )
    with local_ray(trials):
        measured = train(trials, seconds, started_at=started_at)
        stages = dataclasses.asdict(measure_stages(first, min(seconds, _SECONDS_A_STAGE)))
    made = made_with(config)
    return {
        "fps": measured.fps,
        "fps_sampled": measured.fps_sampled,
        "bytes_per_frame": stages.pop("bytes_per_frame"),
        "stages": stages,
        "peak_rss_mb": measured.peak_rss_mb,
        "time_to_first_update_s": measured.time_to_first_update_s,
        "cores": num_cores(),
        "method": first.method,
        "env": first.env,
        "preset": first.preset,
        "settings": {
            "num_env_runners": config.num_env_runners,
            "num_envs_per_env_runner": config.num_envs_per_env_runner,
            "rollout_fragment_length": config.get_rollout_fragment_length(),
            "train_batch_size_per_learner": config.train_batch_size_per_learner,
            **first.config,
        },
        "trials": [dataclasses.asdict(rate) for rate in measured.trials],
        "git_commit": made["git_commit"],
        "versions": made["versions"],
    }


def check_comparable(trials: Sequence[Trial]) -> None:
    """Refuses a comparison that cannot be made, before minutes of measuring.

    Raises:
        ConfigError: The hand-written loop is missing, or lacks the method or the environment.
    """
    hand_loop_script()
    method, env = trials[0].method, trials[0].env
    if method not in METHODS:
        raise ConfigError(
            f"--compare is with benchmarks/hand_loop.py, which has the methods "
            f"{' and '.join(METHODS)}, not {method!r}"
        )
    if not is_minigrid(env):
        raise ConfigError(
            f"--compare is with benchmarks/hand_loop.py, which has MiniGrid environments, "
            f"not {env!r}"
        )


def compare(trials: Sequence[Trial], seconds: float, fps: float) -> dict[str, Any]:
    """Measures the same machine without a bonus, and with the hand-written loop.

    The loop runs in one process and one thread, with one trial's environments and unroll length.

    Args:
        trials: As for `bench`.
        seconds: Seconds that each trains.
        fps: Frames per second of the trials together, from `bench`.

    Returns:
        Rates, and the ratios of `fps` to them.
    """
    ratios: dict[str, Any] = {}
    first = trials[0]
    if first.method != "none":
        baseline = [dataclasses.replace(trial, method="none") for trial in trials]
        with local_ray(baseline):
            without = train(baseline, seconds)
        ratios |= {"none_fps": without.fps, f"{first.method}_over_none": fps / without.fps}
    config = algorithm_config(first)
    hand = run_hand_loop(
        seconds=seconds,
        method=first.method,
        env=first.env,
        num_envs=config.num_envs_per_env_runner,
        unroll_length=config.get_rollout_fragment_length(),
    )
    return {**ratios, "hand_loop_fps": hand["fps"], "over_hand_loop": fps / hand["fps"]}
