"""A few real updates: who learns from what, what is broadcast, and what a checkpoint restores."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch
from ray.rllib.algorithms.impala import IMPALA, IMPALAConfig
from ray.rllib.core import COMPONENT_RL_MODULE, DEFAULT_MODULE_ID
from ray.rllib.core.columns import Columns
from ray.rllib.env.single_agent_episode import SingleAgentEpisode

from rllib_ride.rllib.connectors import (
    AddIntrinsicRewards,
    LearnerPipeline,
    add_intrinsic_rewards,
)
from rllib_ride.rllib.presets import make_config
from rllib_ride.rllib.settings import (
    INTRINSIC_MODULE_ID,
    INTRINSIC_REWARDS,
    IntrinsicSettings,
)

ENV = "MiniGrid-MultiRoom-N2-S4-v0"
FRAMES = 20_000
SPACES = dict.fromkeys(
    (DEFAULT_MODULE_ID, INTRINSIC_MODULE_ID),
    (gym.spaces.Box(0, 255, (7, 7, 3), np.uint8), gym.spaces.Discrete(7)),
)


def config(method: str = "ride", **env_runners: Any) -> IMPALAConfig:
    """Four environments, fragments of ten steps: an update of 40 frames."""
    made = make_config(preset="paper", method=method, env=ENV, frames=FRAMES, seed=5)
    made.env_runners(num_envs_per_env_runner=4, rollout_fragment_length=10, **env_runners)
    made.training(train_batch_size_per_learner=40)
    made.reporting(min_time_s_per_iteration=0, min_sample_timesteps_per_iteration=200)
    return made


@pytest.fixture
def build(ray_session: None) -> Any:
    """Builds algorithms, and stops them when the test ends."""
    algos: list[IMPALA] = []

    def build_(made: IMPALAConfig) -> IMPALA:
        algos.append(made.build_algo())
        return algos[-1]

    yield build_
    for algo in algos:
        algo.stop()


def weights(algo: IMPALA, module_id: str) -> dict[str, np.ndarray]:
    state = algo.learner_group.get_state()["learner"][COMPONENT_RL_MODULE][module_id]
    return copy.deepcopy(state)


def comes_true(condition: Callable[[], bool], seconds: float = 120.0) -> bool:
    """Whether it does within a time that a busy machine may need; actors keep their own pace."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return True
    return False


def learner_of(algo: IMPALA) -> Any:
    return algo.learner_group._learner


def fixed_batch() -> dict[str, torch.Tensor]:
    """A batch that no runner made: three rows of up to six transitions."""
    rng = np.random.default_rng(0)
    return {
        Columns.OBS: torch.as_tensor(rng.integers(0, 11, (3, 7, 7, 7, 3)).astype(np.uint8)),
        Columns.ACTIONS: torch.as_tensor(rng.integers(7, size=(3, 7))),
        Columns.REWARDS: torch.zeros(3, 7),
        Columns.LOSS_MASK: torch.arange(7) < torch.tensor([[6], [2], [4]]),
        "episodic_counts": torch.as_tensor(rng.integers(1, 5, (3, 7)).astype(np.float32)),
        "state_keys": torch.as_tensor(rng.integers(2**62, size=(3, 7))),
        "episode_ids": torch.tensor([5, 6, 7]),
        "t_started": torch.tensor([0, 4, 0]),
    }


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


def test_the_rl_loss_never_reaches_the_embedding(build: Any) -> None:
    algo = build(config())
    learner = learner_of(algo)
    batch = fixed_batch()
    policy, intrinsic = learner.module[DEFAULT_MODULE_ID], learner.module[INTRINSIC_MODULE_ID]
    columns = batch | {
        Columns.STATE_IN: {
            key: torch.zeros(3, *value.shape) for key, value in policy.get_initial_state().items()
        },
        Columns.SEQ_LENS: batch[Columns.LOSS_MASK].sum(1) + 1,
        Columns.ACTION_LOGP: torch.full((3, 7), -2.0),
        Columns.TERMINATEDS: torch.zeros(3, 7, dtype=torch.bool),
    }
    batches = {DEFAULT_MODULE_ID: dict(columns), INTRINSIC_MODULE_ID: dict(columns)}
    losses = learner.compute_losses(fwd_out=learner.module.forward_train(batches), batch=batches)
    bonus = batches[INTRINSIC_MODULE_ID][INTRINSIC_REWARDS]
    assert bonus.abs().sum() > 0
    torch.testing.assert_close(batches[DEFAULT_MODULE_ID][Columns.REWARDS], 0.1 * bonus)
    losses[DEFAULT_MODULE_ID].backward()
    assert all(p.grad is None for p in intrinsic.parameters())
    assert any(p.grad.abs().sum() > 0 for p in policy.parameters())
    policy.zero_grad(set_to_none=True)
    losses[INTRINSIC_MODULE_ID].backward()
    assert all(p.grad is None for p in policy.parameters())


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
    # IMPALA's broadcast is one update behind; a training step of nothing but a broadcast follows.
    latest = weights(algo, DEFAULT_MODULE_ID)
    algo.env_runner_group.sync_weights(from_worker_or_learner_group=algo.learner_group)
    held = algo.env_runner.module.get_state()
    for name, value in latest.items():
        np.testing.assert_array_equal(held[name], value)


def test_padding_gets_no_bonus_and_a_first_step_does(build: Any) -> None:
    learner = learner_of(build(config()))
    batch = fixed_batch()
    intrinsic = learner.module[INTRINSIC_MODULE_ID]
    bonus = intrinsic.bonus(intrinsic.transitions(batch))
    assert bonus.shape == (3, 7)
    assert (bonus[~batch[Columns.LOSS_MASK]] == 0).all()
    assert (bonus[batch[Columns.LOSS_MASK]] > 0).all()


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
    """Its own networks change and no others, RND's target least; a checkpoint holds them all."""
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
    other = build(config(method).debugging(seed=6))  # of its own it would have another target
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


@pytest.mark.parametrize("bonus_now", [True, False])
def test_connectors_add_the_bonus_for_ppo_only(build: Any, bonus_now: bool) -> None:
    """IMPALA's run where weights are stale or about to change; both modules get the batch."""
    learner = learner_of(build(config()))
    piece = AddIntrinsicRewards(settings=learner._settings, bonus_now=bonus_now)
    batch = {DEFAULT_MODULE_ID: fixed_batch()}
    out = piece(rl_module=learner.module, batch=batch, episodes=[])
    for module_id in (DEFAULT_MODULE_ID, INTRINSIC_MODULE_ID):
        assert (INTRINSIC_REWARDS in out[module_id]) == bonus_now
    if bonus_now:
        bonus = out[DEFAULT_MODULE_ID][INTRINSIC_REWARDS]
        torch.testing.assert_close(out[DEFAULT_MODULE_ID][Columns.REWARDS], 0.1 * bonus)


@pytest.mark.parametrize(("num_epochs", "learns_once"), [(1, True), (2, False)])
def test_a_batch_gets_its_bonus_once(build: Any, num_epochs: int, learns_once: bool) -> None:
    """Before the first of several passes; in the loss, which shares its forward pass, if one."""
    learner = learner_of(build(config().training(num_epochs=num_epochs)))
    batch = {mid: fixed_batch() for mid in (DEFAULT_MODULE_ID, INTRINSIC_MODULE_ID)}
    learner.before_learning(batch)
    rows = batch[INTRINSIC_MODULE_ID]
    assert (INTRINSIC_REWARDS not in rows) == learns_once
    if not learns_once:
        intrinsic = learner.module[INTRINSIC_MODULE_ID]
        expected = intrinsic.bonus(intrinsic.transitions(fixed_batch()))
        torch.testing.assert_close(rows[INTRINSIC_REWARDS], expected)
        rewards = rows[Columns.REWARDS].clone()
        learner.before_learning(batch)  # as when APPO's buffer hands it out again
        torch.testing.assert_close(rows[Columns.REWARDS], rewards)


def test_bonus_and_loss_share_one_forward_pass(build: Any) -> None:
    learner = learner_of(build(config()))
    intrinsic = learner.module[INTRINSIC_MODULE_ID]
    passes = []
    intrinsic.method.embedding.register_forward_hook(lambda *args: passes.append(args))
    transitions = intrinsic.transitions(fixed_batch()).for_one_update()
    loss, _ = intrinsic.method.loss(transitions)
    bonus = intrinsic.bonus(transitions)
    assert len(passes) == 1
    assert not bonus.requires_grad
    torch.testing.assert_close(bonus, intrinsic.bonus(intrinsic.transitions(fixed_batch())))
    # A bonus that came first has no graph: the loss must not take its embedding.
    transitions = intrinsic.transitions(fixed_batch()).for_one_update()
    intrinsic.bonus(transitions)
    loss, _ = intrinsic.method.loss(transitions)
    loss.backward()
    assert all(p.grad is not None for p in intrinsic.method.embedding.parameters())


@pytest.mark.parametrize("aggregators", [0, 1])
def test_remote_learner_and_aggregators_use_current_weights(build: Any, aggregators: int) -> None:
    made = config(num_env_runners=1)
    made.learners(num_learners=1, num_aggregator_actors_per_learner=aggregators)
    algo = build(made)
    impacts: list[tuple[float, float]] = []

    def three_updates() -> bool:
        metrics = algo.train().get("learners", {}).get(INTRINSIC_MODULE_ID, {})
        # An iteration in which no update ended has no value, or NaN.
        if np.isfinite(metrics.get("intrinsic_reward_mean", np.nan)):
            impacts.append((metrics["impact"], metrics["intrinsic_reward_mean"]))
        return len(impacts) >= 3

    assert comes_true(three_updates)
    # `impact` is logged by the loss, the bonus by whoever computed it; counts only lower it.
    for impact, bonus in impacts:
        assert 0.2 * impact < bonus <= 1.1 * impact


@pytest.mark.parametrize("method", ["ride", "count", "rnd"])
def test_two_learners_stay_one(build: Any, method: str) -> None:
    """Their networks get the same gradients, each the mean over both; each counts its own share."""
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
        """Once the updates that are under way have ended: nothing is sampled meanwhile."""
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


def test_an_error_in_the_learner_thread_ends_the_update(build: Any) -> None:
    """RLlib's own thread would die of it and the next update wait for ever."""
    algo = build(config())
    algo.train()
    learner_of(algo).compute_losses = lambda **kwargs: 1 / 0
    with pytest.raises(RuntimeError, match="an update failed: division by zero"):
        algo.train()


def test_several_epochs_of_shuffled_minibatches(build: Any) -> None:
    made = config()
    made.training(num_epochs=2, minibatch_size=20, shuffle_batch_per_epoch=True)
    assert np.isfinite(build(made).train()["learners"][DEFAULT_MODULE_ID]["total_loss"])


@pytest.mark.parametrize(
    ("method", "clip", "expected"), [("none", 1.0, 1.0), ("none", None, 5.0), ("ride", 1.0, 1.0)]
)
def test_rewards_are_clipped_as_set(method: str, clip: float | None, expected: float) -> None:
    batch = fixed_batch()
    batch[Columns.REWARDS] += 5.0
    add_intrinsic_rewards(batch, None, IntrinsicSettings(method=method, reward_clip=clip))
    assert (batch[Columns.REWARDS] == expected).all()


@pytest.mark.parametrize("terminal", [True, False])
def test_the_pipeline_treats_a_time_limit_as_set(build: Any, terminal: bool) -> None:
    settings = IntrinsicSettings(method="none", time_limit_is_terminal=terminal)
    pad, *_ = LearnerPipeline(settings, for_vtrace=False)(None, None)
    module = learner_of(build(config("none"))).module
    episode = SingleAgentEpisode(
        observations=list(np.zeros((3, 7, 7, 3), np.uint8)),
        actions=[0, 1],
        rewards=[0.0, 0.0],
        extra_model_outputs={
            Columns.ACTION_LOGP: [-1.0, -1.0],
            "episodic_counts": [1.0, 1.0],
            "state_keys": [3, 4],
        },
        truncated=True,
        len_lookback_buffer=0,
    ).to_numpy()
    batch = pad(rl_module=module, batch={}, episodes=[episode], shared_data={})
    terminateds = batch[DEFAULT_MODULE_ID][Columns.TERMINATEDS]
    assert terminateds.tolist() == [[False, terminal, False]]


def test_the_optimizers_are_those_set(build: Any) -> None:
    made = make_config(preset="tuned", method="ride", env=ENV, frames=FRAMES)
    optimizers = learner_of(build(made))._named_optimizers.values()
    assert len(optimizers) == 4
    assert {optimizer.param_groups[0]["eps"] for optimizer in optimizers} == {1e-5}


def test_one_seed_gives_one_run(build: Any) -> None:
    """In one process two runs have the same weights, bit for bit."""
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
