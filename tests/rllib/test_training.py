"""A few real updates: which networks learn, at which rate, and what a checkpoint restores."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ray.rllib.algorithms.impala import IMPALA
from ray.rllib.core import DEFAULT_MODULE_ID

from helpers.small_impala import ENV, FRAMES, config, fixed_batch, learner_of, weights
from rllib_ride.rllib.presets import make_config
from rllib_ride.rllib.settings import INTRINSIC_MODULE_ID


def test_both_modules_learn_every_network(build: Any) -> None:
    algo = build(config())
    before = {mid: weights(algo, mid) for mid in (DEFAULT_MODULE_ID, INTRINSIC_MODULE_ID)}
    result = algo.train()
    for module_id, old in before.items():
        new = weights(algo, module_id)
        assert new.keys() == old.keys()
        assert [name for name in new if np.array_equal(new[name], old[name])] == []
    metrics = result["learners"][INTRINSIC_MODULE_ID]
    assert metrics["intrinsic_reward_mean"] > 0
    assert np.isfinite([metrics["forward_loss"], metrics["inverse_loss"]]).all()


def test_only_the_policys_rate_is_annealed(build: Any) -> None:
    algo = build(config())
    for _ in range(3):
        result = algo.train()
    frames = result["num_env_steps_sampled_lifetime"]
    learners = result["learners"]
    policy_lr = learners[DEFAULT_MODULE_ID]["policy_learning_rate"]
    # The mean over an iteration of 200 frames lags behind its end by at most that.
    assert policy_lr == pytest.approx(1e-4 * (1 - frames / FRAMES), abs=1e-4 * 300 / FRAMES)
    assert policy_lr < 0.98e-4
    for network in ("embedding", "forward_model", "inverse_model"):
        assert learners[INTRINSIC_MODULE_ID][f"{network}_learning_rate"] == pytest.approx(1e-4)


def test_a_shared_embedding_learns_from_both_losses_once(build: Any) -> None:
    algo = build(config("ride_shared_embedding"))
    learner = learner_of(algo)
    policy, intrinsic = learner.module[DEFAULT_MODULE_ID], learner.module[INTRINSIC_MODULE_ID]
    assert policy.network.embedding is intrinsic.method.embedding
    trained = [p for o in learner._named_optimizers.values() for p in o.param_groups[0]["params"]]
    for module in (policy, intrinsic):
        assert all(sum(p is q for q in trained) == 1 for p in module.parameters())

    before = weights(algo, INTRINSIC_MODULE_ID)
    metrics = algo.train()["learners"][INTRINSIC_MODULE_ID]
    assert metrics["intrinsic_reward_mean"] > 0
    after = weights(algo, INTRINSIC_MODULE_ID)
    assert all((before[name] != after[name]).any() for name in before)
    in_policy = weights(algo, DEFAULT_MODULE_ID)
    for name in after:
        if name.startswith("method.embedding."):
            other = name.replace("method.embedding.", "network.embedding.")
            np.testing.assert_array_equal(after[name], in_policy[other])


@pytest.mark.parametrize(
    ("method", "networks"),
    [
        ("icm", {"embedding", "forward_model", "inverse_model"}),
        ("rnd", {"predictor"}),
        ("only_episodic_counts", set()),
        ("no_episodic_counts", {"embedding", "forward_model", "inverse_model"}),
        ("no_entropy_no_episodic_counts", {"embedding", "forward_model", "inverse_model"}),
    ],
)
def test_every_method_learns_and_is_kept(
    build: Any, method: str, networks: set[str], tmp_path: Path
) -> None:
    """Only the method's own networks change, not RND's target; a checkpoint holds them all."""
    algo = build(config(method))
    before = {mid: weights(algo, mid) for mid in (DEFAULT_MODULE_ID, INTRINSIC_MODULE_ID)}
    for _ in range(3):
        result = algo.train()
    after = {mid: weights(algo, mid) for mid in before}
    changed = {
        mid: {name for name in old if not np.array_equal(after[mid][name], old[name])}
        for mid, old in before.items()
    }
    assert changed[DEFAULT_MODULE_ID] == set(before[DEFAULT_MODULE_ID])
    assert changed[INTRINSIC_MODULE_ID] == {
        name for name in before[INTRINSIC_MODULE_ID] if name.split(".")[1] in networks
    }

    metrics = result["learners"][INTRINSIC_MODULE_ID]
    assert metrics["intrinsic_reward_mean"] > 0
    assert (metrics["total_loss"] > 0) == bool(networks)
    rates = {name for name in metrics if name.endswith("_learning_rate")}
    assert rates == {f"{network}_learning_rate" for network in networks}

    algo.save_to_path(str(tmp_path))
    other = build(config(method).debugging(seed=6))  # a different RND target until restored
    other.restore_from_path(str(tmp_path))
    held = weights(other, INTRINSIC_MODULE_ID)
    assert held.keys() == after[INTRINSIC_MODULE_ID].keys()
    for name, value in held.items():
        np.testing.assert_array_equal(value, after[INTRINSIC_MODULE_ID][name])
    assert (
        other.train()["num_env_steps_sampled_lifetime"] > result["num_env_steps_sampled_lifetime"]
    )


@pytest.mark.parametrize("method", ["ride", "none"])
def test_a_restored_run_goes_on_as_it_was(build: Any, method: str, tmp_path: Path) -> None:
    algo = build(config(method))
    for _ in range(3):
        before = algo.train()
    algo.save_to_path(str(tmp_path))
    batch = fixed_batch()

    def bonus_of(learner: Any) -> np.ndarray:
        if method == "none":
            return np.zeros(1)
        intrinsic = learner.module[INTRINSIC_MODULE_ID]
        return intrinsic.bonus(intrinsic.transitions(batch)).numpy()

    def state_of(algo: IMPALA) -> dict[str, Any]:
        learner = learner_of(algo)
        return {
            "bonus": bonus_of(learner),
            "lr": {
                name: optimizer.param_groups[0]["lr"]
                for name, optimizer in learner._named_optimizers.items()
            },
            "square_avg": [
                state["square_avg"].numpy().copy()
                for optimizer in learner._named_optimizers.values()
                for state in optimizer.state.values()
            ],
        }

    saved = state_of(algo)
    restored = build(config(method))
    restored.restore_from_path(str(tmp_path))
    now = state_of(restored)
    np.testing.assert_array_equal(now["bonus"], saved["bonus"])
    assert now["lr"] == saved["lr"]
    assert len(now["square_avg"]) == len(saved["square_avg"]) > 0
    for old, new in zip(saved["square_avg"], now["square_avg"], strict=True):
        np.testing.assert_array_equal(new, old)

    after = restored.train()
    frames = before["num_env_steps_sampled_lifetime"]
    assert frames < after["num_env_steps_sampled_lifetime"] <= frames + 400
    lr = after["learners"][DEFAULT_MODULE_ID]["policy_learning_rate"]
    sampled = after["num_env_steps_sampled_lifetime"]
    assert lr == pytest.approx(1e-4 * (1 - sampled / FRAMES), abs=1e-4 * 300 / FRAMES)
    assert restored.train()["learners"][DEFAULT_MODULE_ID]["entropy"] > 0


def test_an_error_in_the_learner_thread_ends_the_update(build: Any) -> None:
    """In RLlib the thread would die, and a later update would wait forever."""
    algo = build(config())
    algo.train()
    learner_of(algo).compute_losses = lambda **kwargs: 1 / 0
    with pytest.raises(RuntimeError, match="an update failed: division by zero"):
        algo.train()


def test_several_epochs_of_shuffled_minibatches(build: Any) -> None:
    made = config()
    made.training(num_epochs=2, minibatch_size=20, shuffle_batch_per_epoch=True)
    assert np.isfinite(build(made).train()["learners"][DEFAULT_MODULE_ID]["total_loss"])


def test_the_optimizers_are_those_set(build: Any) -> None:
    made = make_config(preset="tuned", method="ride", env=ENV, frames=FRAMES)
    optimizers = learner_of(build(made))._named_optimizers.values()
    assert len(optimizers) == 4
    assert {optimizer.param_groups[0]["eps"] for optimizer in optimizers} == {1e-5}


def test_one_seed_gives_one_run(build: Any) -> None:
    """In one process, two runs with the same seed have bit-identical weights."""
    found = []
    for _ in range(2):
        algo = build(config())
        for _ in range(3):
            algo.train()
        both = (DEFAULT_MODULE_ID, INTRINSIC_MODULE_ID)
        found.append({module_id: weights(algo, module_id) for module_id in both})
    for module_id, expected in found[0].items():
        for name, value in expected.items():
            np.testing.assert_array_equal(found[1][module_id][name], value, err_msg=name)
