"""Measures the parts of a trial, each alone on one core, by the process's CPU time."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import ray
import torch
import tree
from ray.rllib.core.learner.training_data import TrainingData
from ray.rllib.env.single_agent_episode import SingleAgentEpisode
from ray.rllib.utils.metrics import NUM_ENV_STEPS_SAMPLED_LIFETIME

from rllib_ride.experiments.build import algorithm_config
from rllib_ride.experiments.quiet import quiet_ray
from rllib_ride.experiments.trial import Trial
from rllib_ride.rllib.acting import LockStepActor, actions_for_env
from rllib_ride.rllib.visits import numeric_entries

if TYPE_CHECKING:
    from ray.rllib.algorithms.algorithm_config import AlgorithmConfig

    from rllib_ride.rllib.ray_internals import BaseEnvRunner

_OBSERVATIONS = 100


@dataclass(frozen=True)
class StageRates:
    """Rates per second of CPU time.

    Attributes:
        env: Steps of the vector environment with random actions, including steps that only reset.
        inference: Actions chosen by the policy, from observations of random play.
        learner: Transitions learned from (batch, bonus, losses, optimizers), repeatedly on one
            batch.
        bytes_per_frame: Pickled bytes per frame that an EnvRunner sends to the Learner.
    """

    env: float
    inference: float
    learner: float
    bytes_per_frame: float


def measure_stages(trial: Trial, seconds: float) -> StageRates:
    """Measures the parts of a trial in a Ray worker process; Ray must be running.

    Args:
        trial: The trial whose environments, policy and Learner are measured.
        seconds: Seconds per part.
    """
    return ray.get(ray.remote(_measure).options(num_cpus=1).remote(trial, seconds))


def _measure(trial: Trial, seconds: float) -> StageRates:
    quiet_ray()
    torch.set_num_threads(1)
    config = algorithm_config(trial)
    config.env_runners(num_env_runners=0).learners(num_learners=0)
    config.training(broadcast_interval=1)  # `update` then waits for its results
    assert config.env_runner_cls is not None
    runner: Any = config.env_runner_cls(config=config)
    episodes = _batch(runner, config)
    frames = sum(map(len, episodes))
    observations = _random_play(runner, _OBSERVATIONS)
    return StageRates(
        env=_env_rate(runner, seconds),
        inference=_inference_rate(runner, observations, seconds),
        learner=_learner_rate(runner, config, episodes, seconds),
        bytes_per_frame=len(ray.cloudpickle.dumps(episodes)) / frames,
    )


def _rate(do: Callable[[int], int], seconds: float) -> float:
    """The sum of what `do` returns, per second of CPU time, after a warm-up.

    Args:
        do: Called with 0, 1, 2, ...; returns a number of steps.
        seconds: CPU seconds to measure; the warm-up takes a fifth of them in addition.
    """
    calls = 0
    for limit in (seconds / 5, seconds):
        steps, start = 0, time.process_time()
        while True:
            steps += do(calls)
            calls += 1
            elapsed = time.process_time() - start
            if elapsed >= limit:
                break
    return steps / elapsed


def _batch(runner: BaseEnvRunner, config: AlgorithmConfig) -> list[SingleAgentEpisode]:
    """Samples whole fragments until they make a train batch, as IMPALA does."""
    episodes: list[SingleAgentEpisode] = []
    fragments = 0
    steps = runner.num_envs * config.get_rollout_fragment_length()
    while fragments * steps < config.total_train_batch_size:
        episodes += runner.sample()
        fragments += 1
    return episodes


def _random_actions(runner: BaseEnvRunner, num: int) -> np.ndarray:
    """Random actions for all N environments, `[num, N, ...]`."""
    space = runner.vector_env.action_space
    space.seed(0)
    return np.stack([space.sample() for _ in range(num)])


def _random_play(runner: BaseEnvRunner, num_steps: int) -> list[Any]:
    """Observations of `num_steps` random steps, `[N, ...]` each."""
    env = runner.vector_env
    env.reset(seed=0)
    steps = (env.step(actions)[0] for actions in _random_actions(runner, num_steps))
    # Copies, because the environment may reuse its buffer.
    return [tree.map_structure(np.copy, numeric_entries(obs)) for obs in steps]


def _env_rate(runner: BaseEnvRunner, seconds: float) -> float:
    env, actions = runner.vector_env, _random_actions(runner, 1024)
    env.reset(seed=0)

    def step(call: int) -> int:
        env.step(actions[call % len(actions)])
        return env.num_envs

    return _rate(step, seconds)


def _inference_rate(runner: BaseEnvRunner, observations: list[Any], seconds: float) -> float:
    actor = LockStepActor(runner.module, runner.num_envs)
    space = runner.vector_env.single_action_space

    def act(call: int) -> int:
        actions, _ = actor.act(observations[call % len(observations)], explore=True)
        actions_for_env(
            actions,
            space,
            normalized=runner.config.normalize_actions,
            clip=runner.config.clip_actions,
        )
        return runner.num_envs

    return _rate(act, seconds)


def _learner_rate(
    runner: BaseEnvRunner,
    config: AlgorithmConfig,
    episodes: list[SingleAgentEpisode],
    seconds: float,
) -> float:
    learner = config.build_learner(spaces=runner.get_spaces())
    frames = sum(map(len, episodes))

    def update(call: int) -> int:
        learner.update(
            training_data=TrainingData(episodes=episodes),
            timesteps={NUM_ENV_STEPS_SAMPLED_LIFETIME: 0},
            num_epochs=config.num_epochs,
            minibatch_size=config.minibatch_size,
        )
        return frames

    try:
        return _rate(update, seconds)
    finally:
        learner.shutdown()
