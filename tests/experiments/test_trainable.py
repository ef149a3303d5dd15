"""A checkpoint of a trial: what goes on from it, and what is refused."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tree

from helpers.trials import trial
from rllib_ride.experiments.trainable import TrialTrainable

SMALL = {
    "num_envs_per_env_runner": 2,
    "rollout_fragment_length": 16,
    "train_batch_size_per_learner": 32,
    "min_time_s_per_iteration": 0.2,
}


@pytest.fixture
def build() -> Iterator[Callable[[str], TrialTrainable]]:
    built: list[TrialTrainable] = []

    def new(method: str) -> TrialTrainable:
        built.append(TrialTrainable({"trial": trial(method=method, config=SMALL).to_dict()}))
        return built[-1]

    yield new
    for trainable in built:
        trainable.stop()


def learner_state(trainable: TrialTrainable) -> dict[str, Any]:
    """Weights (a count table among them), optimizer states, and how many steps were trained."""
    return trainable._algorithm.learner_group.get_state()["learner"]


@pytest.mark.parametrize("method", ["ride", "count"])
def test_a_restored_trial_has_all_that_the_saved_one_had(
    build: Callable[[str], TrialTrainable], tmp_path: Path, method: str
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
    # tuned: 4e-4 to 0 over 1e8 frames, by the frames seen in all.
    assert 4e-4 > rates[0] > rates[1] > 4e-4 * (1 - after["frames"] / 1e8) - 1e-12
    episodes = "num_episodes_lifetime"
    assert after["env_runners"][episodes] >= before["env_runners"][episodes]


def test_a_checkpoint_with_a_changed_file_is_not_loaded(
    build: Callable[[str], TrialTrainable], tmp_path: Path
) -> None:
    saved = build("none")
    saved.save_checkpoint(str(tmp_path))
    path = tmp_path / "last_episodes.json"
    path.write_text(path.read_text() + " ")

    with pytest.raises(ValueError, match="files are missing or not as they were saved"):
        saved.load_checkpoint(str(tmp_path))
