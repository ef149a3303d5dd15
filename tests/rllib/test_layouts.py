"""Each algorithm's batch layout: no step is lost or duplicated, and padding has no effect."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch
import tree
from ray.rllib.algorithms.appo import APPOConfig
from ray.rllib.algorithms.impala import IMPALAConfig
from ray.rllib.core import DEFAULT_MODULE_ID
from ray.rllib.core.columns import Columns
from ray.rllib.core.rl_module.apis import TARGET_NETWORK_ACTION_DIST_INPUTS, TargetNetworkAPI
from ray.rllib.core.rl_module.multi_rl_module import MultiRLModule
from ray.rllib.core.rl_module.rl_module import RLModuleSpec
from ray.rllib.env.single_agent_episode import SingleAgentEpisode
from ray.rllib.evaluation.postprocessing import Postprocessing
from ray.rllib.utils.minibatch_utils import ShardEpisodesIterator

import rllib_ride
from helpers import envs
from helpers.learners import table_learner
from helpers.policies import FeedForward, StepCounter
from rllib_ride.intrinsic.method import IntrinsicMethod
from rllib_ride.intrinsic.transitions import Transitions
from rllib_ride.rllib.connectors import LearnerPipeline
from rllib_ride.rllib.episodes import mark_piece, pad_episodes
from rllib_ride.rllib.layouts import AddAdvantages, flatten_rows
from rllib_ride.rllib.learner import IntrinsicVTraceLearner
from rllib_ride.rllib.module import IntrinsicModule
from rllib_ride.rllib.settings import (
    EPISODE_IDS,
    EPISODIC_COUNTS,
    INTRINSIC_MODULE_ID,
    INTRINSIC_REWARDS,
    STATE_KEYS,
    T_STARTED,
    IntrinsicSettings,
)

GAMMA, LAMBDA, MAX_SEQ_LEN = 0.9, 0.7, 3
A = 5
# (transitions, how the piece ends, step of its episode at which it begins)
PIECES = [(5, "terminated", 0), (2, "cut", 4), (7, "truncated", 3), (1, "terminated", 6)]
PIECES += [(3, "cut", 0), (6, "truncated", 0)]
N = sum(steps for steps, _, _ in PIECES)


def pieces() -> list[SingleAgentEpisode]:
    """Pieces of random numbers; the recurrent state is the step within the episode."""
    rng = np.random.default_rng(1)
    made = []
    for steps, end, t_started in PIECES:
        episode = SingleAgentEpisode(
            observations=list(rng.normal(size=(steps + 1, 1)).astype(np.float32)),
            actions=list(rng.integers(A, size=steps)),
            rewards=list(rng.normal(size=steps)),
            extra_model_outputs={
                Columns.ACTION_LOGP: list(-rng.uniform(0.5, 3, size=steps).astype(np.float32)),
                EPISODIC_COUNTS: list(rng.uniform(1, 9, size=steps).astype(np.float32)),
                STATE_KEYS: list(rng.integers(2**62, size=steps)),
                Columns.STATE_IN: [
                    {"n": np.array([t_started + t], np.float32)} for t in range(steps)
                ],
            },
            terminated=end == "terminated",
            truncated=end == "truncated",
            t_started=t_started,
            len_lookback_buffer=0,
        ).to_numpy()
        made.append(mark_piece(episode, 7))
    return made


def policy_of(cls: type[FeedForward]) -> FeedForward:
    return cls(
        observation_space=gym.spaces.Box(-9, 9, (1,), np.float32),
        action_space=gym.spaces.Discrete(A),
        model_config={"max_seq_len": MAX_SEQ_LEN},
    )


def soiled(columns: dict[str, Any], number: int) -> dict[str, Any]:
    """Writes a number into a batch's padding and bootstrap entries, but not their observations."""
    mask = columns[Columns.LOSS_MASK]
    unseen = np.arange(mask.shape[1]) >= columns[Columns.SEQ_LENS][:, None]
    dirty = dict(columns)
    for name in (Columns.OBS, Columns.REWARDS, EPISODIC_COUNTS, STATE_KEYS):
        dirty[name] = columns[name].copy()
        dirty[name][unseen if name == Columns.OBS else ~mask] = number
    dirty[Columns.ACTIONS] = np.where(mask, columns[Columns.ACTIONS], A - 1)
    return dirty


class WithTarget(FeedForward, TargetNetworkAPI):
    """With the target network that APPO needs."""

    def make_target_networks(self) -> None:
        self.target = torch.nn.Identity()

    def get_target_network_pairs(self) -> list[Any]:
        return []

    def forward_target(self, batch: dict[str, Any]) -> dict[str, Any]:
        return {TARGET_NETWORK_ACTION_DIST_INPUTS: self._logits(self.x(batch))}


def with_advantages(
    policy: FeedForward,
    episodes: list[SingleAgentEpisode],
    *,
    terminal: bool = True,
    dirt: int = 0,
) -> dict[str, dict[str, Any]]:
    """PPO's batch of both modules; the bonus is the entry's index. For `dirt` see `soiled`."""
    initial_state = {"n": np.zeros(1, np.float32)} if policy.is_stateful() else None
    columns = pad_episodes(episodes, initial_state, time_limit_is_terminal=terminal)
    if dirt:
        columns = soiled(columns, dirt)
    columns = tree.map_structure(torch.as_tensor, columns)
    mask = columns[Columns.LOSS_MASK]
    columns[INTRINSIC_REWARDS] = torch.arange(mask.numel()).view_as(mask) * mask
    return AddAdvantages(gamma=GAMMA, lambda_=LAMBDA)(
        rl_module={DEFAULT_MODULE_ID: policy},
        batch={DEFAULT_MODULE_ID: dict(columns), INTRINSIC_MODULE_ID: dict(columns)},
        episodes=episodes,
        shared_data={},
    )


class Distance(IntrinsicMethod):
    """Pays the distance of a state from a guess, computed in one product including padding."""

    def __init__(self, observation_space: gym.Space, action_space: gym.Space) -> None:
        super().__init__(observation_space, action_space)
        self.guess = torch.nn.Linear(1, 1)

    def bonus(self, transitions: Transitions) -> torch.Tensor:
        return self.guess(transitions.obs[1:]).squeeze(-1).abs() * transitions.mask

    def loss(self, transitions: Transitions) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
        return self.bonus(transitions).sum(), {}


@pytest.mark.parametrize("method", ["distance", "none"])
def test_ppos_batch_is_where_the_networks_are(method: str) -> None:
    """Device `meta` stands in for a GPU: operations that mix devices would fail."""
    policy = policy_of(FeedForward)
    intrinsic = IntrinsicModule(
        observation_space=policy.observation_space,
        action_space=policy.action_space,
        model_config={"method_class": Distance, "method_config": {}},
    )
    modules = MultiRLModule(rl_module_specs={})
    modules.add_module(DEFAULT_MODULE_ID, policy.to("meta"))
    modules.add_module(INTRINSIC_MODULE_ID, intrinsic.to("meta"))
    batch: dict[str, Any] = {}
    for piece in LearnerPipeline(IntrinsicSettings(method=method), for_vtrace=False)(None, None):
        batch = piece(rl_module=modules, batch=batch, episodes=pieces(), shared_data={})
    assert {column.device.type for column in tree.flatten(batch)} == {"meta"}
    assert (INTRINSIC_MODULE_ID in batch) == (method != "none")


class SameValue(FeedForward):
    """Gives every state the same value: views of one parameter."""

    def setup(self) -> None:
        super().setup()
        self.value = torch.nn.Parameter(torch.ones(()))

    def compute_values(self, batch: dict[str, Any], embeddings: Any = None) -> torch.Tensor:
        return self.value.expand(batch[Columns.REWARDS].shape)


def test_ppos_batch_needs_no_gradient() -> None:
    """With one, the second minibatch's backward pass would go through a graph that is gone."""
    batch = with_advantages(policy_of(SameValue), pieces())
    assert not any(column.requires_grad for column in tree.flatten(batch))


def gae(episode: SingleAgentEpisode, v: np.ndarray, *, is_terminal: bool) -> list[float]:
    """A_t = sum_l (gamma lambda)^l delta_{t+l} (Schulman et al. 2016, equation 16).

    delta_t = r_t + gamma V(s_{t+1}) - V(s_t), its equation 10; V is 0 after a terminal step.
    """
    r, steps = episode.get_rewards(), len(episode)
    v_next = np.append(v[1:steps], 0.0 if is_terminal else v[steps])
    delta = r + GAMMA * v_next - v[:steps]
    return [
        sum((GAMMA * LAMBDA) ** k * delta[t + k] for k in range(steps - t)) for t in range(steps)
    ]


@pytest.mark.parametrize("terminal", [True, False])
@pytest.mark.parametrize("cls", [FeedForward, StepCounter])
def test_advantages_are_those_of_the_paper(cls: type[FeedForward], terminal: bool) -> None:
    episodes = pieces()
    advantages: list[float] = []
    values: list[float] = []
    for episode in episodes:
        x = episode.get_observations()[:, 0].astype(np.float64)
        n = episode.t_started + np.arange(len(x)) if cls is StepCounter else 0
        v = 2 * x + n
        is_terminal = episode.is_terminated or (terminal and episode.is_truncated)
        advantages += gae(episode, v, is_terminal=is_terminal)
        values += list(v[:-1])
    targets = np.add(advantages, values)
    standardized = (advantages - np.mean(advantages)) / np.std(advantages)  # as RLlib

    columns = with_advantages(policy_of(cls), episodes, terminal=terminal)[DEFAULT_MODULE_ID]
    real = columns[Columns.LOSS_MASK]
    assert real.sum() == N
    np.testing.assert_allclose(columns[Postprocessing.VALUE_TARGETS][real], targets, rtol=1e-4)
    np.testing.assert_allclose(columns[Postprocessing.ADVANTAGES][real], standardized, rtol=1e-3)


@pytest.mark.parametrize("learners", [1, 2, 3, 5])
def test_a_recurrent_policys_rows_hold_each_step_once(learners: int) -> None:
    """Also if RLlib cuts pieces, to give several Learners equal numbers of steps."""
    shards = list(ShardEpisodesIterator(pieces(), num_shards=learners))
    assert sum(len(episode) for shard in shards for episode in shard) == N
    for shard in shards:
        check_rows(shard)


def check_rows(episodes: list[SingleAgentEpisode]) -> None:
    rows = with_advantages(policy_of(StepCounter), episodes)[DEFAULT_MODULE_ID]
    mask, lengths = rows[Columns.LOSS_MASK], rows[Columns.SEQ_LENS]
    assert mask.shape[1] == MAX_SEQ_LEN
    assert mask.sum(1).tolist() == lengths.tolist()
    assert lengths.min() > 0
    for name, of_episode in {
        Columns.OBS: [e.get_observations(slice(0, len(e))) for e in episodes],
        Columns.ACTIONS: [e.get_actions() for e in episodes],
        Columns.REWARDS: [e.get_rewards() for e in episodes],
        Columns.ACTION_LOGP: [e.get_extra_model_outputs(Columns.ACTION_LOGP) for e in episodes],
    }.items():
        np.testing.assert_allclose(rows[name][mask], np.concatenate(of_episode), rtol=1e-6)
        assert (rows[name][~mask] == 0).all()

    # The state counts steps: it must equal the step of the episode at which the row begins.
    steps = np.concatenate([e.t_started + np.arange(len(e)) for e in episodes])
    begins = np.cumsum([0, *lengths.tolist()[:-1]])
    np.testing.assert_array_equal(rows[Columns.STATE_IN]["n"][:, 0], steps[begins])


def test_a_feed_forward_policy_gets_the_real_steps_alone() -> None:
    episodes = pieces()
    columns = with_advantages(policy_of(FeedForward), episodes)[DEFAULT_MODULE_ID]
    assert {len(column) for column in columns.values()} == {N}
    assert columns[Columns.LOSS_MASK].all()
    assert not {Columns.SEQ_LENS, Columns.STATE_IN} & set(columns)
    np.testing.assert_array_equal(
        columns[Columns.OBS],
        np.concatenate([e.get_observations(slice(0, len(e))) for e in episodes]),
    )


@pytest.mark.parametrize("cls", [FeedForward, StepCounter])
def test_intrinsic_networks_get_each_transition_once(cls: type[FeedForward]) -> None:
    episodes = pieces()
    pairs = with_advantages(policy_of(cls), episodes)[INTRINSIC_MODULE_ID]
    assert pairs[Columns.LOSS_MASK].tolist() == [[True, False]] * N
    obs = pairs[Columns.OBS]  # [n, 2, 1]
    for data, expected in (
        (obs[:, 0], [e.get_observations(slice(0, len(e))) for e in episodes]),
        (obs[:, 1], [e.get_observations(slice(1, None)) for e in episodes]),
        (pairs[Columns.ACTIONS][:, 0], [e.get_actions() for e in episodes]),
        (
            pairs[EPISODIC_COUNTS][:, 0],
            [e.get_extra_model_outputs(EPISODIC_COUNTS) for e in episodes],
        ),
        (pairs[STATE_KEYS][:, 0], [e.get_extra_model_outputs(STATE_KEYS) for e in episodes]),
        (pairs[T_STARTED], [e.t_started + np.arange(len(e)) for e in episodes]),
        # Numbered row by row; a row has 7 steps and one for the bootstrap.
        (
            pairs[INTRINSIC_REWARDS][:, 0],
            [8 * i + np.arange(len(e)) for i, e in enumerate(episodes)],
        ),
    ):
        np.testing.assert_array_equal(data, np.concatenate(expected))
    ids = pairs[EPISODE_IDS].tolist()
    assert len(set(ids)) == len(episodes)
    assert [ids.count(number) for number in dict.fromkeys(ids)] == [len(e) for e in episodes]


def test_vtrace_is_the_same_on_rows_and_on_a_feed_forward_policys_steps() -> None:
    rng = np.random.default_rng(2)
    rows = pad_episodes(pieces(), None, time_limit_is_terminal=True)
    rows = tree.map_structure(torch.as_tensor, rows)
    shape = rows[Columns.LOSS_MASK].shape  # [B, T + 1]
    logits = rng.normal(size=(*shape, A)).astype(np.float32)
    values = rng.normal(size=shape).astype(np.float32)
    losses, gradients = [], []
    for columns in (rows, flatten_rows(rows)):
        learner = table_learner(logits, values, gamma=GAMMA)
        try:
            table = learner.module[DEFAULT_MODULE_ID]
            for parameter in table.parameters():
                leading = columns[Columns.LOSS_MASK].shape
                parameter.data = parameter.data.reshape(*leading, *parameter.shape[2:])
            batch = {DEFAULT_MODULE_ID: columns}
            fwd_out = learner.module.forward_train(batch)
            loss = learner.compute_losses(fwd_out=fwd_out, batch=batch)[DEFAULT_MODULE_ID]
            loss.backward()
            losses.append(loss.item())
            gradients.append([p.grad.flatten() for p in table.parameters()])
        finally:
            learner.shutdown()
    assert losses[0] == pytest.approx(losses[1], rel=1e-5) and losses[0] != 0
    for of_rows, of_steps in zip(*gradients, strict=True):
        torch.testing.assert_close(of_steps, of_rows)
        assert of_rows.abs().sum() > 0


@pytest.mark.parametrize("cls", [FeedForward, StepCounter])
def test_advantages_know_nothing_of_padding(cls: type[FeedForward]) -> None:
    policy, episodes = policy_of(cls), pieces()
    clean = with_advantages(policy, episodes)
    dirty = with_advantages(policy, episodes, dirt=1000)
    for module_id, columns in clean.items():
        assert columns.keys() == dirty[module_id].keys()
        mask = columns[Columns.LOSS_MASK]
        for name, column in columns.items():
            other = dirty[module_id][name]
            if name == Columns.OBS or module_id == DEFAULT_MODULE_ID:
                tree.map_structure(torch.testing.assert_close, column, other)
            else:  # the second entry of a pair belongs to the next transition or to padding
                real = mask if column.shape[:2] == mask.shape else slice(None)
                torch.testing.assert_close(column[real], other[real])


def test_neither_padding_nor_the_bootstrap_step_is_learned_from() -> None:
    """IMPALA: these entries change neither losses nor bonus, and get no policy gradient."""
    rng = np.random.default_rng(2)
    columns = pad_episodes(pieces(), None, time_limit_is_terminal=True)
    shape = columns[Columns.LOSS_MASK].shape
    learner = table_learner(
        rng.normal(size=(*shape, A)).astype(np.float32),
        rng.normal(size=shape).astype(np.float32),
        observation_space=gym.spaces.Box(-9, 9, (1,), np.float32),
        settings=IntrinsicSettings(method="ride"),
    )
    found = []
    try:
        table = learner.module[DEFAULT_MODULE_ID]
        for dirt in (0, 3):
            rows = tree.map_structure(torch.as_tensor, soiled(columns, dirt) if dirt else columns)
            mask = rows[Columns.LOSS_MASK]
            batch = {DEFAULT_MODULE_ID: dict(rows), INTRINSIC_MODULE_ID: dict(rows)}
            losses = learner.compute_losses(
                fwd_out=learner.module.forward_train(batch), batch=batch
            )
            bonus = batch[INTRINSIC_MODULE_ID][INTRINSIC_REWARDS]
            assert (bonus[mask] > 0).all() and (bonus[~mask] == 0).all()
            table.zero_grad()
            losses[DEFAULT_MODULE_ID].backward()
            for parameter in table.parameters():
                assert (parameter.grad[~mask] == 0).all()
                assert (parameter.grad[mask] != 0).any()
            found.append([bonus, *(loss.detach() for loss in losses.values())])
    finally:
        learner.shutdown()
    torch.testing.assert_close(found[0], found[1])


@pytest.mark.parametrize(
    ("epochs", "an_epoch"), [({"minibatch_size": 20}, 2), ({"minibatch_size": 10}, 4), ({}, 1)]
)
@pytest.mark.parametrize("config_class", [IMPALAConfig, APPOConfig])
def test_minibatches_of_a_feed_forward_policy_are_whole_rows(
    config_class: type[IMPALAConfig],
    epochs: dict[str, Any],
    an_epoch: int,
    monkeypatch: pytest.MonkeyPatch,
    ray_session: None,
) -> None:
    """With a row cut in the middle, V-trace would mix the steps of different episodes."""
    num_steps = 10
    config = (
        config_class()
        .environment(envs.ENV_ID)
        .env_runners(
            num_env_runners=0, num_envs_per_env_runner=4, rollout_fragment_length=num_steps
        )
        .learners(num_learners=0)
        .training(
            train_batch_size_per_learner=40, num_epochs=3, shuffle_batch_per_epoch=True, **epochs
        )
        .rl_module(rl_module_spec=RLModuleSpec(module_class=WithTarget))
        .reporting(min_time_s_per_iteration=0)
    )
    seen = []
    loss = IntrinsicVTraceLearner.compute_loss_for_module

    def spy(self: Any, *, batch: dict[str, Any], **kwargs: Any) -> torch.Tensor:
        if kwargs["module_id"] == DEFAULT_MODULE_ID:
            seen.append((batch[Columns.OBS][..., 0, 0, 2].int(), batch[Columns.LOSS_MASK]))
        return loss(self, batch=batch, **kwargs)

    monkeypatch.setattr(IntrinsicVTraceLearner, "compute_loss_for_module", spy)
    algo = rllib_ride.add_intrinsic_reward(config, method="rnd").build_algo()
    try:
        algo.train()
    finally:
        algo.stop()
    assert len(seen) % (3 * an_epoch) == 0 and seen
    for x, mask in seen:
        assert x.ndim == mask.ndim == 1
        for row, real in zip(x.view(-1, num_steps + 1), mask.view(-1, num_steps + 1), strict=True):
            steps = int(real.sum())
            assert real.tolist() == [True] * steps + [False] * (num_steps + 1 - steps)
            # The environment shows the step within the episode.
            assert row[: steps + 1].tolist() == list(range(row[0], row[0] + steps + 1))
