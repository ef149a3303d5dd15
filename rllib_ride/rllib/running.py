"""Saves the state of sampling, so that a resumed trial takes exactly the same steps.

RLlib's checkpoints hold what was learned. In a single process (`num_env_runners=0`,
`num_learners=0`) the rest can be saved too: environments in mid-episode, the policy's recurrent
state, the counts of the running episodes, all random generators, and the weights not yet
synchronized to the EnvRunner, which acts with those of some updates ago.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from ray import cloudpickle

from rllib_ride.rllib.env_runner import BatchedEnvRunner
from rllib_ride.rllib.ray_internals import set_weights_on_their_way, weights_on_their_way

if TYPE_CHECKING:
    from ray.rllib.algorithms.algorithm import Algorithm

FILE = "running.pkl"


def save_running(algorithm: Algorithm, folder: str | Path) -> None:
    """Writes the state for `load_running`; nothing if the running episodes cannot be saved."""
    runner = algorithm.env_runner
    if not _in_one_process(algorithm) or (episodes := runner.running_episodes()) is None:
        return
    state = {
        "episodes": episodes,
        "weights": weights_on_their_way(algorithm),
        "random": (torch.get_rng_state(), np.random.get_state(), random.getstate()),
    }
    Path(folder, FILE).write_bytes(cloudpickle.dumps(state))


def load_running(algorithm: Algorithm, folder: str | Path) -> None:
    """Resumes the running episodes; restore the rest of the checkpoint first.

    Without the file, or with another number of processes or environments, new episodes begin.
    """
    path = Path(folder, FILE)
    if not path.exists() or not _in_one_process(algorithm):
        return
    state: dict[str, Any] = cloudpickle.loads(path.read_bytes())
    if not algorithm.env_runner.go_on_with(state["episodes"]):
        return
    set_weights_on_their_way(algorithm, state["weights"])
    of_torch, of_numpy, of_python = state["random"]
    torch.set_rng_state(of_torch)
    np.random.set_state(of_numpy)
    random.setstate(of_python)


def _in_one_process(algorithm: Algorithm) -> bool:
    config = algorithm.config
    return (
        config.num_env_runners == 0
        and config.num_learners == 0
        and getattr(config, "broadcast_interval", 1) == 1  # else IMPALA cannot be resumed exactly
        and isinstance(algorithm.env_runner, BatchedEnvRunner)
    )
