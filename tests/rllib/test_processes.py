"""Which weights Learners, EnvRunners and aggregators use."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from ray.rllib.core import COMPONENT_RL_MODULE, DEFAULT_MODULE_ID

from helpers.small_impala import config, learner_of, weights
from helpers.waiting import comes_true
from rllib_ride.rllib.settings import INTRINSIC_MODULE_ID


def test_the_env_runners_are_sent_the_policy_alone(build: Any) -> None:
    learner = learner_of(build(config()))
    module_ids = [DEFAULT_MODULE_ID, INTRINSIC_MODULE_ID]
    sent = learner.get_state(
        components=[f"{COMPONENT_RL_MODULE}/{module_id}" for module_id in module_ids],
        inference_only=True,
    )[COMPONENT_RL_MODULE]
    assert sent[INTRINSIC_MODULE_ID] == {}
    assert len(sent[DEFAULT_MODULE_ID]) == len(list(learner.module[DEFAULT_MODULE_ID].parameters()))


def test_the_runner_acts_with_the_learners_policy(build: Any) -> None:
    algo = build(config())
    for _ in range(2):
        algo.train()
    # IMPALA's weight broadcast is one update behind, so synchronize once more.
    latest = weights(algo, DEFAULT_MODULE_ID)
    algo.env_runner_group.sync_weights(from_worker_or_learner_group=algo.learner_group)
    held = algo.env_runner.module.get_state()
    for name, value in latest.items():
        np.testing.assert_array_equal(held[name], value)


@pytest.mark.parametrize("aggregators", [0, 1])
def test_remote_learner_and_aggregators_use_current_weights(build: Any, aggregators: int) -> None:
    made = config(num_env_runners=1)
    made.learners(num_learners=1, num_aggregator_actors_per_learner=aggregators)
    algo = build(made)
    impacts: list[tuple[float, float]] = []

    def three_updates() -> bool:
        metrics = algo.train().get("learners", {}).get(INTRINSIC_MODULE_ID, {})
        # An iteration without a finished update has no value, or NaN.
        if np.isfinite(metrics.get("intrinsic_reward_mean", np.nan)):
            impacts.append((metrics["impact"], metrics["intrinsic_reward_mean"]))
        return len(impacts) >= 3

    assert comes_true(three_updates)
    # The loss logs `impact`; the process that computes the bonus logs it. Counts only lower it.
    for impact, bonus in impacts:
        assert 0.2 * impact < bonus <= 1.1 * impact


def test_two_learners_make_equally_many_minibatches(build: Any) -> None:
    """Wherever their episodes end: a Learner that makes one more waits for the other forever."""
    made = config("rnd", num_env_runners=2)
    made.learners(num_learners=2)
    made.training(num_epochs=5, minibatch_size=30)
    algo = build(made)
    updates: list[float] = []

    def thirty_updates() -> bool:
        metrics = algo.train().get("learners", {}).get(DEFAULT_MODULE_ID, {})
        updates.append(metrics.get("num_module_steps_trained_lifetime", 0))
        return updates[-1] >= 30 * 40 * 5

    assert comes_true(thirty_updates)


@pytest.mark.parametrize("method", ["ride", "count", "rnd"])
def test_two_learners_stay_one(build: Any, method: str) -> None:
    """Both apply the same averaged gradients; each counts the visits of its own share."""
    made = config(method, num_env_runners=2)
    made.learners(num_learners=2)
    algo = build(made)
    before = weights(algo, INTRINSIC_MODULE_ID)

    def updated() -> bool:
        metrics = algo.train().get("learners", {}).get(INTRINSIC_MODULE_ID, {})
        return bool(np.isfinite(metrics.get("intrinsic_reward_mean", np.nan)))

    def states() -> list[Any]:
        results = algo.learner_group.foreach_learner(
            lambda learner: learner.get_state(components=COMPONENT_RL_MODULE)
        )
        return [result.get()[COMPONENT_RL_MODULE] for result in results]

    def equal() -> bool:
        """True once running updates have ended, as nothing is sampled meanwhile."""
        one, other = states()
        return all(
            np.array_equal(value, other[module_id][name])
            for module_id in (DEFAULT_MODULE_ID, INTRINSIC_MODULE_ID)
            for name, value in one[module_id].items()
            if not name.endswith("_extra_state")  # each counts its own share
        )

    assert comes_true(updated)
    assert comes_true(equal)
    after = states()[0][INTRINSIC_MODULE_ID]
    if method != "count":
        trained = [n for n in before if "target" not in n and n.endswith("weight")]
        assert trained and all((before[n] != after[n]).any() for n in trained)
