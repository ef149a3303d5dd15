"""Steps per second of the MiniGrid vector environment alone, on one core, with random actions.

    python benchmarks/minigrid_env.py                       # the paper's tasks, variants included
    python benchmarks/minigrid_env.py --env ID --package    # one task, and the package's own rate

Actions are uniform. Resets are included: a step that resets an environment counts as a step. Time
is this process's own CPU time, so that other load on the machine matters little.
"""

from __future__ import annotations

import argparse
import time

import gymnasium as gym
import numpy as np

import rllib_ride  # noqa: F401  (registers the environments)
from rllib_ride.envs.catalog import PAPER_TASKS


def steps_per_second(env: gym.vector.VectorEnv, seconds: float, seed: int = 0) -> float:
    """Steps per second, summed over all environments, after a warm-up of one second."""
    actions = np.random.default_rng(seed).integers(
        env.single_action_space.n, size=(1024, env.num_envs)
    )
    env.reset(seed=seed)
    _play(env, actions, 1.0)
    steps, elapsed = _play(env, actions, seconds)
    return steps * env.num_envs / elapsed


def _play(env: gym.vector.VectorEnv, actions: np.ndarray, seconds: float) -> tuple[int, float]:
    start, steps = time.process_time(), 0
    while (elapsed := time.process_time() - start) < seconds:
        env.step(actions[steps % len(actions)])
        steps += 1
    return steps, elapsed


def main() -> None:
    """Prints one line per task."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--env", action="append", help="an id; may be given more than once")
    parser.add_argument("--num-envs", type=int, default=32)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--package", action="store_true", help="measure gym's SyncVectorEnv too")
    options = parser.parse_args()
    modes = ["vector_entry_point"] + ["sync"] * options.package
    print(f"steps/s, {options.num_envs} environments: " + ", ".join(modes))
    tasks = [(env_id, {}) for env_id in options.env or []]
    for env_id, env_options in tasks or [(task.id, task.options) for task in PAPER_TASKS]:
        rates = []
        for mode in modes:
            env = gym.make_vec(
                env_id, num_envs=options.num_envs, vectorization_mode=mode, **env_options
            )
            rates.append(steps_per_second(env, options.seconds))
            env.close()
        name = " ".join([env_id, *(f"{key}={value}" for key, value in env_options.items())])
        print(f"{name:50}" + "".join(f"{rate:12,.0f}" for rate in rates), flush=True)


if __name__ == "__main__":
    main()
