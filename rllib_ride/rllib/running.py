"""What runs on between two updates, saved so that a resumed trial takes the very same steps.

RLlib's checkpoints hold what was learned. In one process (`num_env_runners=0`, `num_learners=0`)
the rest can be kept too: the environments in the middle of their episodes, the policy's recurrent
state, the counts of the running episodes, every random generator, and the weights that are on
their way to the EnvRunner, which acts with those of some updates ago.
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
    """Writes what `load_running` goes on with; nothing where the episodes cannot be kept."""
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
    """Goes on in the middle of the episodes, after all else of the checkpoint is restored.

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
        and getattr(config, "broadcast_interval", 1) == 1  # or IMPALA is not in step with itself
        and isinstance(algorithm.env_runner, BatchedEnvRunner)
    )
