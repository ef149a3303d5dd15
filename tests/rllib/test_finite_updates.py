"""Non-finite numbers are named and saved, and stop or skip the update, on all algorithms."""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from ray.rllib.algorithms.algorithm import Algorithm
from ray.rllib.algorithms.appo import APPOConfig
from ray.rllib.algorithms.impala import IMPALAConfig
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.core import DEFAULT_MODULE_ID
from ray.rllib.core.columns import Columns

import rllib_ride
from helpers.poisoned import METHOD, Poisoned
from rllib_ride.experiments.scalars import scalars
from rllib_ride.rllib import connectors, finite_updates
from rllib_ride.rllib.nonfinite import MOST_FILES, NonFiniteError, keep_batches_in
from rllib_ride.rllib.settings import INTRINSIC_MODULE_ID, SKIPPED_UPDATES

ALGORITHMS = {"impala": IMPALAConfig, "appo": APPOConfig, "ppo": PPOConfig}
ENV = "MiniGrid-Empty-5x5-v0"
NAN = float("nan")


@pytest.fixture
def build(ray_session: None, tmp_path: Path) -> Iterator[Callable[..., Algorithm]]:
    """Builds algorithms with three environments and five steps per fragment.

    Their bad batches are saved in `tmp_path`. Stops them, and the poison, when the test ends.
    """
    algos: list[Algorithm] = []

    def build_(algorithm: str = "impala", method: str = METHOD, **settings: Any) -> Algorithm:
        made = ALGORITHMS[algorithm]().environment(ENV)
        made.env_runners(num_env_runners=0, num_envs_per_env_runner=3, rollout_fragment_length=5)
        made.learners(num_learners=0)
        made.training(train_batch_size_per_learner=15, lr=1e-3, grad_clip=40.0)
        if algorithm == "ppo":
            made.training(train_batch_size_per_learner=30, minibatch_size=20, num_epochs=2)
        made.reporting(min_time_s_per_iteration=0, min_sample_timesteps_per_iteration=1)
        rllib_ride.add_intrinsic_reward(made, method=method, **settings)
        keep_batches_in(made, tmp_path)
        algos.append(made.build_algo())
        return algos[-1]

    yield build_
    for algo in algos:
        algo.stop()
    Poisoned.where, Poisoned.poison = None, NAN


def train_on(algo: Algorithm) -> dict[str, Any]:
    """Trains long enough for APPO to learn from the first samples of this call."""
    for _ in range(12 if isinstance(algo.config, APPOConfig) else 1):
        result = algo.train()
    return result


def settled(read: Callable[[], np.ndarray]) -> np.ndarray:
    """Reads repeatedly until APPO's learner thread has finished its batch; sorts the result."""
    found, again = read(), None
    while again is None or not np.array_equal(found, again):
        found = read() if again is None else again
        time.sleep(0.3)
        again = read()
    return np.sort(found, axis=0)


def learner_of(algo: Algorithm) -> Any:
    return algo.learner_group._learner


def state_of(algo: Algorithm) -> dict[str, Any]:
    """Copies of weights and optimizer state."""
    state = learner_of(algo).get_state(components=["rl_module", "optimizer"])
    return copy.deepcopy({name: state[name] for name in ("rl_module", "optimizer")})


def assert_same(state: Any, other: Any) -> None:
    if isinstance(state, dict):
        assert state.keys() == other.keys()
        for key in state:
            assert_same(state[key], other[key])
    elif isinstance(state, list | tuple):
        for one, two in zip(state, other, strict=True):
            assert_same(one, two)
    elif state is not None:
        np.testing.assert_array_equal(state, other)


def poison_rewards(monkeypatch: pytest.MonkeyPatch, value: float) -> None:
    """Replaces one reward of each batch on its way to the Learner."""
    pad = connectors.pad_episodes

    def poisoned(*args: Any, **kwargs: Any) -> dict[str, Any]:
        columns = pad(*args, **kwargs)
        columns[Columns.REWARDS][0, 0] = value
        return columns

    monkeypatch.setattr(connectors, "pad_episodes", poisoned)


def poison_weight(algo: Algorithm, module_id: str) -> None:
    with torch.no_grad():
        next(learner_of(algo).module[module_id].parameters()).view(-1)[0] = NAN


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize(
    ("where", "poison", "source"),
    [
        ("bonus", NAN, f"the bonus of method '{METHOD}'"),
        ("bonus", math.inf, f"the bonus of method '{METHOD}'"),
        ("loss", -math.inf, f"scale_loss of method '{METHOD}'"),
        ("gradient", NAN, f"the gradient of 'scale' of method '{METHOD}'"),
    ],
)
def test_it_stops_at_what_a_method_gives(
    build: Any, tmp_path: Path, algorithm: str, where: str, poison: float, source: str
) -> None:
    """Also at an infinite bonus, which the reward clip would turn into 1."""
    algo = build(algorithm)
    algo.train()
    before = state_of(algo)
    Poisoned.where, Poisoned.poison = where, poison

    with pytest.raises(NonFiniteError) as error:
        train_on(algo)

    message = str(error.value)
    (file,) = tmp_path.iterdir()
    assert f"was not applied: not finite: {source}" in message
    assert f"its batch is in {file}; " in message and "on_nonfinite" in message
    assert "\n" not in message
    if algorithm != "appo":
        assert_same(before, state_of(algo))
    saved = torch.load(file, weights_only=True)
    assert saved["not_finite"][0] == source
    assert message.startswith(f"update {saved['update']} ")
    assert saved["batch"].keys() == {DEFAULT_MODULE_ID, INTRINSIC_MODULE_ID}
    assert Columns.OBS in saved["batch"][INTRINSIC_MODULE_ID]
    assert saved["losses"].keys() == saved["batch"].keys()


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_it_tells_the_policys_losses_apart(
    build: Any, monkeypatch: pytest.MonkeyPatch, algorithm: str
) -> None:
    algo = build(algorithm, method="none")
    poison_rewards(monkeypatch, NAN)
    with pytest.raises(NonFiniteError, match="not finite: the rewards ") as error:
        train_on(algo)
    told = str(error.value)
    assert "the policy loss" in told and "the value loss" in told
    assert "the gradient of the policy" in told
    assert "the entropy" not in told
    assert "look at what the environment gives" in told


@pytest.mark.parametrize(
    ("module_id", "source"),
    [
        (DEFAULT_MODULE_ID, "the weights of the policy"),
        (INTRINSIC_MODULE_ID, "the weights of 'embedding' of method 'ride'"),
    ],
)
def test_a_weight_is_named_before_all_that_follows_from_it(
    build: Any, module_id: str, source: str
) -> None:
    algo = build(method="ride")
    algo.train()
    poison_weight(algo, module_id)
    with pytest.raises(NonFiniteError, match=f"not finite: {source} .* go on from a checkpoint"):
        algo.train()


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_skipped_updates_change_nothing_and_are_counted(
    build: Any, tmp_path: Path, algorithm: str
) -> None:
    algo = build(algorithm, on_nonfinite="skip")
    assert scalars(algo.train())["policy/skipped_updates"] == 0
    Poisoned.where = "bonus"
    train_on(algo)  # APPO still learns from good batches here
    before = state_of(algo)
    for _ in range(2 + MOST_FILES):
        result = algo.train()
    assert_same(before, state_of(algo))
    skipped = scalars(result)["policy/skipped_updates"]
    assert skipped >= 2 + MOST_FILES
    assert len(list(tmp_path.iterdir())) == MOST_FILES

    Poisoned.where = None
    algo.train()
    train_on(algo)
    result = train_on(algo)
    after = state_of(algo)["rl_module"][DEFAULT_MODULE_ID]
    old = before["rl_module"][DEFAULT_MODULE_ID]
    assert any((after[name] != old[name]).any() for name in after)
    assert np.isfinite(result["learners"][DEFAULT_MODULE_ID]["total_loss"])


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_skipped_visits_are_taken_out_of_counts_table(
    build: Any, monkeypatch: pytest.MonkeyPatch, algorithm: str
) -> None:
    algo = build(algorithm, method="count", on_nonfinite="skip")
    algo.train()
    table = learner_of(algo).module[INTRINSIC_MODULE_ID].unwrapped().method._visits
    poison_rewards(monkeypatch, NAN)
    train_on(algo)
    before = settled(table.entries)
    result = train_on(algo)
    assert result["learners"][DEFAULT_MODULE_ID][SKIPPED_UPDATES] >= 2
    assert len(before) > 0
    assert_same(before, settled(table.entries))


def test_it_ends_where_nothing_is_learned_any_more(
    build: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(finite_updates, "MOST_SKIPPED_IN_A_ROW", 4)
    algo = build(on_nonfinite="skip")
    for where in ("bonus", None, "bonus"):  # an applied update resets the count
        Poisoned.where = where
        for _ in range(3):
            algo.train()
    with pytest.raises(NonFiniteError, match="the last 4 batches .* nothing is learned any more"):
        algo.train()
