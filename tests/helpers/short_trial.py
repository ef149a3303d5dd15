"""Trains a short trial in its own process, and prints its curve and a digest of its weights.

`python -m helpers.short_trial OPTIONS`, where OPTIONS is JSON: `method`, the number of `updates`,
and optionally `ppo`, true for PPO instead of a trial's IMPALA; `load`, the folder of a checkpoint
to continue from; `save`, the number of updates after which to save, and where.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

TESTS = Path(__file__).parents[1]

ENV = "MiniGrid-MultiRoom-N2-S4-v0"

ONE_UPDATE_A_ROW = {
    "num_envs_per_env_runner": 4,
    "rollout_fragment_length": 16,
    "train_batch_size_per_learner": 64,
    "min_time_s_per_iteration": 0,
}


def short_trial(hash_seed: int = 0, **options: Any) -> dict[str, Any]:
    """Runs this module in another process and returns what it prints."""
    paths = [str(TESTS), os.environ.get("PYTHONPATH", "")]
    answer = subprocess.run(
        [sys.executable, "-m", "helpers.short_trial", json.dumps(options)],
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join(filter(None, paths)),
            "PYTHONHASHSEED": str(hash_seed),
        },
        capture_output=True,
        text=True,
        timeout=180,
    )
    assert answer.returncode == 0, answer.stderr
    return json.loads(answer.stdout.splitlines()[-1])


def _main(options: dict[str, Any]) -> dict[str, Any]:
    import ray
    import tree

    from rllib_ride.experiments.progress import Progress

    ray.init(num_cpus=1, include_dashboard=False, log_to_driver=False, logging_level="error")
    trained = (_ppo if options.get("ppo") else _trial)(options["method"])
    if "load" in options:
        trained.load_checkpoint(options["load"])
    save_after, folder = options.get("save", (0, None))
    rows = []
    for update in range(1, options["updates"] + 1):
        row = vars(Progress.of(trained.train()))
        del row["wall_s"]
        rows.append({key: None if math.isnan(value) else value for key, value in row.items()})
        if update == save_after:
            trained.save_checkpoint(folder)
    algorithm = getattr(trained, "_algorithm", trained)
    state = algorithm.learner_group.get_state()["learner"]
    digests = {
        key: hashlib.sha256(b"".join(_bytes(x) for x in tree.flatten(state[key]))).hexdigest()
        for key in ("rl_module", "optimizer")
    }
    trained.stop()
    ray.shutdown()
    return {"rows": rows, **digests}


def _trial(method: str) -> Any:
    from helpers.trials import trial
    from rllib_ride.experiments.trainable import TrialTrainable

    ours = trial(method=method, env=ENV, config=ONE_UPDATE_A_ROW, frames=10**9)
    return TrialTrainable({"trial": ours.to_dict()})


def _ppo(method: str) -> Any:
    from ray.rllib.algorithms.ppo import PPO, PPOConfig

    import rllib_ride
    from rllib_ride.rllib.running import load_running, save_running

    class Kept(PPO):
        def save_checkpoint(self, folder: str) -> None:
            super().save_checkpoint(folder)
            save_running(self, folder)

        def load_checkpoint(self, folder: str) -> None:
            super().load_checkpoint(folder)
            load_running(self, folder)

    config = (
        PPOConfig()
        .environment(ENV)
        .env_runners(num_env_runners=0, num_envs_per_env_runner=4, rollout_fragment_length=16)
        .learners(num_learners=0)
        .training(train_batch_size_per_learner=64, minibatch_size=32, num_epochs=2)
        .reporting(min_time_s_per_iteration=0)
        .debugging(seed=7)
    )
    rllib_ride.add_intrinsic_reward(config, method=method)
    config.algo_class = Kept
    return config.build_algo()


def _bytes(leaf: Any) -> bytes:
    return leaf.tobytes() if hasattr(leaf, "tobytes") else repr(leaf).encode()


if __name__ == "__main__":
    print(json.dumps(_main(json.loads(sys.argv[1]))))
