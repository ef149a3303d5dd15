"""How the bonus reaches the policy: when it is computed, from what, and how it is clipped."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.core import DEFAULT_MODULE_ID
from ray.rllib.core.columns import Columns
from ray.rllib.core.learner.training_data import TrainingData
from ray.rllib.env.single_agent_episode import SingleAgentEpisode
from ray.rllib.utils.metrics import NUM_ENV_STEPS_SAMPLED_LIFETIME

import rllib_ride
from helpers import envs
from helpers.small_impala import config, fixed_batch, learner_of
from rllib_ride.rllib.connectors import (
    AddIntrinsicRewards,
    LearnerPipeline,
    add_intrinsic_rewards,
)
from rllib_ride.rllib.env_runner import BatchedEnvRunner
from rllib_ride.rllib.settings import (
    EPISODIC_COUNTS,
    INTRINSIC_MODULE_ID,
    INTRINSIC_REWARDS,
    IntrinsicSettings,
)


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


def test_padding_gets_no_bonus_and_a_first_step_does(build: Any) -> None:
    learner = learner_of(build(config()))
    batch = fixed_batch()
    intrinsic = learner.module[INTRINSIC_MODULE_ID]
    bonus = intrinsic.bonus(intrinsic.transitions(batch))
    assert bonus.shape == (3, 7)
    assert (bonus[~batch[Columns.LOSS_MASK]] == 0).all()
    assert (bonus[batch[Columns.LOSS_MASK]] > 0).all()


@pytest.mark.parametrize("bonus_now", [True, False])
def test_connectors_add_the_bonus_for_ppo_only(build: Any, bonus_now: bool) -> None:
    """IMPALA's run where weights are stale or about to change. Both modules get the batch."""
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
    """Before the first of several passes; for a single pass in the loss, from its forward pass."""
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
        mean = expected[rows[Columns.LOSS_MASK]].mean()
        logged = learner.metrics.peek((INTRINSIC_MODULE_ID, "intrinsic_reward_mean"))
        torch.testing.assert_close(logged, mean)  # not of each minibatch


def test_ppo_logs_the_mean_bonus_of_the_batch() -> None:
    """Not of the last minibatch."""
    made = (
        PPOConfig()
        .environment(envs.ENV_ID)
        .env_runners(num_env_runners=0, num_envs_per_env_runner=4, rollout_fragment_length=10)
        .learners(num_learners=0)
        .training(train_batch_size_per_learner=40, minibatch_size=20)
    )
    rllib_ride.add_intrinsic_reward(made, method="only_episodic_counts", counts="full")
    runner = BatchedEnvRunner(config=made, worker_index=0)
    pieces = runner.sample()
    counts = np.concatenate([piece.get_extra_model_outputs(EPISODIC_COUNTS) for piece in pieces])
    learner = made.build_learner(spaces=runner.get_spaces())
    try:
        metrics = learner.update(
            training_data=TrainingData(episodes=pieces),
            timesteps={NUM_ENV_STEPS_SAMPLED_LIFETIME: 40},
            minibatch_size=20,
        )
    finally:
        learner.shutdown()
    logged = metrics[INTRINSIC_MODULE_ID]["intrinsic_reward_mean"].peek()
    assert logged == pytest.approx(np.mean(1 / np.sqrt(counts)))


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
    # A bonus is computed without a graph: the loss must not reuse its embedding.
    transitions = intrinsic.transitions(fixed_batch()).for_one_update()
    intrinsic.bonus(transitions)
    loss, _ = intrinsic.method.loss(transitions)
    loss.backward()
    assert all(p.grad is not None for p in intrinsic.method.embedding.parameters())


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
