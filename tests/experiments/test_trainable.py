"""A trial's checkpoint: what it restores, and which checkpoints are refused."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import tree
from ray import cloudpickle

from helpers.trials import trial
from rllib_ride.experiments.trainable import NEW_EPISODES, TrialTrainable
from rllib_ride.rllib import running
from rllib_ride.rllib.weights import WEIGHTS_FILE
from rllib_ride.seal import SEAL_FILE, SealError

SMALL = {
    "num_envs_per_env_runner": 2,
    "rollout_fragment_length": 16,
    "train_batch_size_per_learner": 32,
    "min_time_s_per_iteration": 0.2,
}


@pytest.fixture
def build() -> Iterator[Callable[..., TrialTrainable]]:
    built: list[TrialTrainable] = []

    def new(method: str, **changes: Any) -> TrialTrainable:
        ours = trial(**{"method": method, "config": SMALL, **changes})
        built.append(TrialTrainable({"trial": ours.to_dict()}))
        return built[-1]

    yield new
    for trainable in built:
        trainable.stop()


@pytest.fixture
def saved(build: Callable[..., TrialTrainable], tmp_path: Path) -> TrialTrainable:
    """RIDE after an iteration, with a checkpoint in `tmp_path`."""
    trainable = build("ride")
    trainable.train()
    trainable.save_checkpoint(str(tmp_path))
    return trainable


def learner_state(trainable: TrialTrainable) -> dict[str, Any]:
    """Weights (including a count table), optimizer states, and the number of steps trained."""
    return trainable._algorithm.learner_group.get_state()["learner"]


@pytest.mark.parametrize("method", ["ride", "count"])
def test_a_restored_trial_has_all_that_the_saved_one_had(
    build: Callable[..., TrialTrainable], tmp_path: Path, method: str
) -> None:
    saved = build(method)
    for _ in range(3):
        before = saved.train()
    time.sleep(1.0)  # until the learner's thread is idle
    saved.save_checkpoint(str(tmp_path))
    restored = build(method)
    restored.load_checkpoint(str(tmp_path))

    old, new = learner_state(saved), learner_state(restored)
    for key in ("rl_module", "optimizer"):
        pairs = list(zip(tree.flatten(old[key]), tree.flatten(new[key]), strict=True))
        assert len(pairs) > 10
        for a, b in pairs:
            np.testing.assert_array_equal(a, b)
    if method == "count":
        sizes = [np.size(leaf) for leaf in tree.flatten(new["rl_module"]["intrinsic"])]
        assert max(sizes) > 10
    after = restored.train()
    rate = "policy_learning_rate"
    rates = [result["learners"]["default_policy"][rate] for result in (before, after)]
    assert after["frames"] > before["frames"] > 0
    # tuned: the learning rate falls from 4e-4 to 0 over 1e8 frames, counted over all sessions.
    assert 4e-4 > rates[0] > rates[1] > 4e-4 * (1 - after["frames"] / 1e8) - 1e-12
    episodes = "num_episodes_lifetime"
    assert after["env_runners"][episodes] >= before["env_runners"][episodes]


def test_a_checkpoint_with_a_changed_file_is_not_loaded(
    build: Callable[..., TrialTrainable], tmp_path: Path
) -> None:
    saved = build("none")
    saved.save_checkpoint(str(tmp_path))
    path = tmp_path / "last_episodes.json"
    path.write_text(path.read_text() + " ")

    with pytest.raises(SealError, match="files are missing or not as they were saved"):
        saved.load_checkpoint(str(tmp_path))


def test_a_checkpoint_of_something_else_is_not_loaded(
    build: Callable[..., TrialTrainable], tmp_path: Path
) -> None:
    build("ride").save_checkpoint(str(tmp_path))
    others = {
        "method is 'ride', and this trial has 'icm'": build("icm"),
        "env_options is {}, and this trial has {'agent_view_size': 9}": build(
            "ride", env_options={"agent_view_size": 9}
        ),
        "modules is .*'paper'.* and this trial has .*'released'": build(
            "ride", config={**SMALL, "preset": {"network": "released"}}
        ),
    }
    for message, other in others.items():
        with pytest.raises(SealError, match=message):
            other.load_checkpoint(str(tmp_path))


def test_a_seal_of_before_the_formats_goes_on(
    build: Callable[..., TrialTrainable], saved: TrialTrainable, tmp_path: Path
) -> None:
    # The old format: only RLlib's files and the episodes, their hashes, and the result.
    for name in (WEIGHTS_FILE, running.FILE):
        (tmp_path / name).unlink()
    seal = json.loads((tmp_path / SEAL_FILE).read_text())
    files = {name: digest for name, digest in seal["files"].items() if (tmp_path / name).exists()}
    (tmp_path / SEAL_FILE).write_text(json.dumps({"files": files, "result": seal["result"]}))

    restored = build("ride")
    restored.load_checkpoint(str(tmp_path))
    assert restored.train()["frames"] > seal["frames"] > 0


def test_after_a_failure_other_steps_are_taken(
    build: Callable[..., TrialTrainable], saved: TrialTrainable, tmp_path: Path
) -> None:
    went_on, tried_again = build("ride"), build("ride")
    tried_again.config[NEW_EPISODES] = True
    for restored in (went_on, tried_again):
        restored.load_checkpoint(str(tmp_path))

    def runner(trainable: TrialTrainable) -> Any:
        return trainable._algorithm.env_runner

    ids = [runner(trainable)._episode_ids for trainable in (saved, went_on)]
    assert ids[0] == ids[1]
    assert runner(went_on).has_episodes
    assert not runner(tried_again).has_episodes


def test_no_file_of_a_checkpoint_holds_tensors_of_a_device(
    saved: TrialTrainable, tmp_path: Path
) -> None:
    """A machine without a GPU can load what one trained: NumPy arrays, and tensors on the CPU."""
    pickles = {path.relative_to(tmp_path).as_posix(): path for path in tmp_path.rglob("*.pkl")}
    assert {"learner_group/learner/state.pkl", "algorithm_state.pkl"} <= pickles.keys()
    tensors = {}
    for name, path in pickles.items():
        leaves = tree.flatten(cloudpickle.loads(path.read_bytes()))
        tensors[name] = [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]
    # The generator's state and the recurrent state of one process on the CPU.
    of_running = tensors.pop(running.FILE)
    assert {str(tensor.device) for tensor in of_running} == {"cpu"}
    assert not any(tensors.values())
    weights = torch.load(tmp_path / WEIGHTS_FILE, weights_only=True)
    assert {str(tensor.device) for tensor in tree.flatten(weights)} == {"cpu"}


@pytest.mark.parametrize(
    ("before", "after"),
    [(0, 1), (1, 0), pytest.param(2, 1, marks=pytest.mark.slow)],
)
def test_a_trial_goes_on_with_another_number_of_env_runners(
    ray_session: None,
    build: Callable[..., TrialTrainable],
    tmp_path: Path,
    before: int,
    after: int,
) -> None:
    saved = build("ride", config={**SMALL, "num_env_runners": before})
    result = saved.train()
    while result["frames"] == 0:
        result = saved.train()
    saved.save_checkpoint(str(tmp_path))
    weights = learner_state(saved)["rl_module"]
    saved.stop()

    restored = build("ride", config={**SMALL, "num_env_runners": after})
    restored.load_checkpoint(str(tmp_path))
    pairs = zip(
        tree.flatten(weights), tree.flatten(learner_state(restored)["rl_module"]), strict=True
    )
    assert all(np.array_equal(a, b) for a, b in pairs)
    for policy in acting_weights(restored):
        for name, value in weights["default_policy"].items():
            np.testing.assert_array_equal(policy[name], value)
    frames = result["frames"]
    while (now := restored.train()["frames"]) <= frames:
        assert now >= frames
    assert (tmp_path / running.FILE).exists() == (before == 0)


def acting_weights(trainable: TrialTrainable) -> list[dict[str, Any]]:
    """The weights of each EnvRunner that samples."""
    group = trainable._algorithm.env_runner_group
    is_local = group.num_remote_env_runners() == 0
    return group.foreach_env_runner(lambda r: r.module.get_state(), local_env_runner=is_local)
