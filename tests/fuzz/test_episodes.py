"""For any lengths of episodes and fragments, the learner trains on exactly the steps taken."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

import gymnasium as gym
import numpy as np
import torch
import tree
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from ray.rllib.algorithms.algorithm_config import AlgorithmConfig
from ray.rllib.algorithms.impala import IMPALAConfig
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.core import DEFAULT_MODULE_ID
from ray.rllib.core.columns import Columns
from ray.rllib.core.rl_module.rl_module import RLModuleSpec
from ray.rllib.env.single_agent_env_runner import SingleAgentEnvRunner
from ray.rllib.env.single_agent_episode import SingleAgentEpisode
from ray.rllib.utils.minibatch_utils import ShardEpisodesIterator

import rllib_ride
from helpers import scripted
from helpers.policies import FeedForward, StepCounter
from helpers.scripted import Scripted, Step, played
from rllib_ride.rllib.env_runner import BatchedEnvRunner
from rllib_ride.rllib.episodes import Rollout, cut_rollout, pad_episodes, state_before
from rllib_ride.rllib.layouts import AddAdvantages, flatten_rows
from rllib_ride.rllib.settings import (
    EPISODE_IDS,
    EPISODIC_COUNTS,
    INTRINSIC_MODULE_ID,
    INTRINSIC_REWARDS,
    STATE_KEYS,
    T_STARTED,
)
from rllib_ride.rllib.stock_runner import CountingEnvRunner
from rllib_ride.rllib.visits import StateVisits

INITIAL_STATE = {"n": np.zeros(1, np.float32)}
Lengths = Sequence[Sequence[int]]


@st.composite
def scripts(draw: st.DrawFn) -> tuple[int, Lengths]:
    """The fragment length T, and each of N environments' episode lengths, from 1 to 3 T."""
    num_steps = draw(st.integers(1, 9))
    length = st.integers(1, 3 * num_steps) | st.sampled_from(
        [max(1, num_steps - 1), num_steps, num_steps + 1]  # and with the reset step
    )
    return num_steps, draw(
        st.lists(st.lists(length, min_size=1, max_size=4), min_size=1, max_size=4)
    )


def rollouts(
    num_steps: int, lengths: Lengths, fragments: int, every_state: bool
) -> Iterator[Rollout]:
    """The steps of a vector environment in `fragments` fragments, recorded in the simplest way.

    They include the recurrent state before every step (`every_state`, as for PPO) or only before
    the first. Steps that only reset carry -999 in values and states, which must not turn up later.
    """
    num_envs = len(lengths)
    env = Scripted(num_envs, lengths)
    obs, infos = env.reset()
    obs = obs.copy()
    visits = StateVisits(num_envs, "full", env.single_observation_space)
    visits.begin(obs, infos)
    resetting, steps = np.zeros(num_envs, bool), np.zeros(num_envs)
    for _ in range(fragments):
        seen, columns = [obs], defaultdict(list)
        for _ in range(num_steps):
            actions = env.t % 5
            obs, rewards, terminated, truncated, infos = env.step(actions)
            obs = obs.copy()
            keys, counts = visits.visit(obs, infos, resetting)
            seen.append(obs)
            for name, value in {
                "actions": actions,
                "rewards": rewards.astype(np.float32),
                "terminated": terminated,
                "truncated": truncated,
                "counts": np.where(resetting, -999, counts).astype(np.float32),
                "state_keys": np.where(resetting, -999, keys),
                "is_reset": resetting,
                "logp": np.where(resetting, -999, -env.t / 8).astype(np.float32),
                "states": np.where(resetting, -999, steps)[:, None].astype(np.float32),
            }.items():
                columns[name].append(value)
            steps = np.where(resetting, 0, steps + 1)
            resetting = terminated | truncated
        arrays = {name: np.stack(values) for name, values in columns.items()}
        outputs, states = {Columns.ACTION_LOGP: arrays.pop("logp")}, {"n": arrays.pop("states")}
        if every_state:
            outputs[Columns.STATE_IN] = states
        yield Rollout(
            observations=np.stack(seen),
            outputs=outputs,
            longest=num_steps,
            first_state=None if every_state else {"n": states["n"][0]},
            **arrays,
        )


def pieces_of(
    num_steps: int, lengths: Lengths, fragments: int, *, every_state: bool = False
) -> list[Any]:
    """The pieces of each fragment."""
    ids = [SingleAgentEpisode().id_ for _ in lengths]
    started = np.zeros(len(lengths), int)
    return [
        cut_rollout(rollout, ids, started)
        for rollout in rollouts(num_steps, lengths, fragments, every_state)
    ]


def steps_in(piece: SingleAgentEpisode) -> list[Step]:
    """Its transitions; also checks that each leads from one observation to the next."""
    obs, steps = piece.get_observations(), len(piece)
    first = obs[0]
    for t in range(steps + 1):
        assert obs[t][[0, 1, -1]].tolist() == [first[0], first[1], piece.t_started + t]
    assert first[-1] == piece.t_started
    assert piece.get_actions().tolist() == [(piece.t_started + t) % 5 for t in range(steps)]
    return [
        Step(
            env=int(first[0]),
            episode=int(first[1]),
            t=piece.t_started + t,
            reward=float(piece.get_rewards(t)),
            n_ep=int(piece.get_extra_model_outputs(EPISODIC_COUNTS, t)),
            key=int(piece.get_extra_model_outputs(STATE_KEYS, t)),
            terminated=piece.is_terminated and t == steps - 1,
            truncated=piece.is_truncated and t == steps - 1,
        )
        for t in range(steps)
    ]


@given(scripts(), st.integers(1, 5), st.booleans())
@example((4, [[4], [3], [5], [1], [12]]), 5, True)  # ends on the last step, before it and after it
@example((1, [[1], [2]]), 5, False)  # every other fragment is only a reset
def test_pieces_are_what_was_stepped(
    script: tuple[int, Lengths], fragments: int, every_state: bool
) -> None:
    num_steps, lengths = script
    made = pieces_of(num_steps, lengths, fragments, every_state=every_state)
    pieces = list(itertools.chain(*made))

    found = sorted(step for piece in pieces for step in steps_in(piece))
    assert found == sorted(played(lengths, fragments * num_steps))
    ids: dict[tuple[int, int], set[str]] = defaultdict(set)
    for piece in pieces:
        assert 1 <= len(piece) <= num_steps
        first = steps_in(piece)[0]
        ids[first.env, first.episode].add(piece.id_)
        for t in range(len(piece) if every_state else 1):
            assert state_before(piece, t, INITIAL_STATE)["n"].tolist() == [piece.t_started + t]
    # Pieces of an episode share its id, and no other episode has it.
    assert all(len(of_episode) == 1 for of_episode in ids.values())
    assert len(set().union(*ids.values())) == len(ids)


@given(scripts(), st.integers(1, 3), st.booleans(), st.integers(0, 3))
def test_rows_hold_each_step_once_and_nothing_of_a_reset(
    script: tuple[int, Lengths], fragments: int, terminal: bool, wider: int
) -> None:
    num_steps, lengths = script
    episodes = list(itertools.chain(*pieces_of(num_steps, lengths, fragments)))
    assume(episodes)
    width = num_steps + wider
    rows = pad_episodes(episodes, INITIAL_STATE, time_limit_is_terminal=terminal, num_steps=width)

    expected = [step for piece in episodes for step in steps_in(piece)]
    mask, seq_lens = rows[Columns.LOSS_MASK], rows[Columns.SEQ_LENS]
    assert mask.shape == (len(episodes), width + 1) and mask.sum() == len(expected)
    assert (mask.sum(1) + 1 == seq_lens).all()
    assert not mask[np.arange(len(episodes)), seq_lens - 1].any()  # the bootstrap step
    for name, of_step in {
        Columns.REWARDS: [s.reward for s in expected],
        EPISODIC_COUNTS: [s.n_ep for s in expected],
        STATE_KEYS: [s.key for s in expected],
        Columns.ACTIONS: [s.t % 5 for s in expected],
        Columns.TERMINATEDS: [s.terminated or (terminal and s.truncated) for s in expected],
    }.items():
        assert rows[name][mask].tolist() == of_step, name
    seen = np.arange(width + 1) < seq_lens[:, None]
    assert rows[Columns.OBS][seen][:, -1].tolist() == [
        piece.t_started + t for piece in episodes for t in range(len(piece) + 1)
    ]
    assert not rows[Columns.OBS][~seen].any()
    for row, piece in enumerate(episodes):
        assert rows[Columns.STATE_IN]["n"][row].tolist() == [piece.t_started]
        # V-trace ends a row at a terminal step, or bootstraps from the observation after the row.
        end = len(piece) - 1
        assert rows[Columns.TERMINATEDS][row].sum() == rows[Columns.TERMINATEDS][row, end]
        assert rows[Columns.TRUNCATEDS][row].sum() == 1 - rows[Columns.TERMINATEDS][row, end]

    flat = flatten_rows(tree.map_structure(torch.as_tensor, rows))
    real = flat[Columns.LOSS_MASK]
    assert flat[Columns.REWARDS][real].tolist() == [s.reward for s in expected]
    assert not {EPISODE_IDS, T_STARTED, Columns.SEQ_LENS, Columns.STATE_IN} & set(flat)


def cut_anywhere(episodes: list[SingleAgentEpisode], learners: int) -> list[SingleAgentEpisode]:
    """The episodes after RLlib has cut them into equal numbers of steps for this many Learners."""
    return list(itertools.chain(*ShardEpisodesIterator(episodes, num_shards=learners)))


@given(
    scripts(),
    st.integers(1, 3),
    st.sampled_from([FeedForward, StepCounter]),
    st.integers(1, 9),
    st.integers(1, 4),
)
def test_ppos_rows_and_pairs_hold_each_step_once(
    script: tuple[int, Lengths], fragments: int, cls: type[FeedForward], row: int, learners: int
) -> None:
    num_steps, lengths = script
    made = pieces_of(num_steps, lengths, fragments, every_state=True)
    episodes = cut_anywhere(list(itertools.chain(*made)), learners)
    assume(episodes)
    policy = cls(
        observation_space=gym.spaces.Box(-1e6, 1e6, (3,), np.float32),
        action_space=gym.spaces.Discrete(5),
        model_config={"max_seq_len": row},
    )
    columns = pad_episodes(
        episodes, INITIAL_STATE if policy.is_stateful() else None, time_limit_is_terminal=True
    )
    columns = tree.map_structure(torch.as_tensor, columns)
    columns[INTRINSIC_REWARDS] = columns[Columns.REWARDS]
    made = AddAdvantages(gamma=0.9, lambda_=0.7)(
        rl_module={DEFAULT_MODULE_ID: policy},
        batch={DEFAULT_MODULE_ID: dict(columns), INTRINSIC_MODULE_ID: dict(columns)},
        episodes=episodes,
        shared_data={},
    )

    expected = [step for piece in episodes for step in steps_in(piece)]
    learned, pairs = made[DEFAULT_MODULE_ID], made[INTRINSIC_MODULE_ID]
    mask = learned[Columns.LOSS_MASK]
    assert mask.sum() == len(expected) and (mask.ndim == 1 or mask.shape[1] <= row)
    assert learned[Columns.REWARDS][mask].tolist() == [s.reward for s in expected]
    assert learned[EPISODIC_COUNTS][mask].tolist() == [s.n_ep for s in expected]
    if policy.is_stateful():
        first = learned[Columns.OBS][:, 0, -1]  # the step of its episode that each row begins at
        assert learned[Columns.STATE_IN]["n"][:, 0].tolist() == first.tolist()
        assert (learned[Columns.SEQ_LENS] > 0).all()
    obs = pairs[Columns.OBS]  # [n, 2, 3]
    assert obs[:, 0, [0, 1, 2]].tolist() == [[s.env, s.episode, s.t] for s in expected]
    assert obs[:, 1, [0, 1, 2]].tolist() == [[s.env, s.episode, s.t + 1] for s in expected]
    assert pairs[T_STARTED].tolist() == [s.t for s in expected]
    assert pairs[STATE_KEYS][:, 0].tolist() == [s.key for s in expected]


def sampled(
    cls: type[SingleAgentEnvRunner], made: AlgorithmConfig, fragments: int
) -> list[SingleAgentEpisode]:
    runner = cls(config=made, worker_index=0)
    try:
        return [piece for _ in range(fragments) for piece in runner.sample()]
    finally:
        runner.stop()


@settings(max_examples=max(8, settings().max_examples // 10))  # runners take a while to build
@given(
    scripts(),
    st.integers(1, 5),
    st.integers(3, 6),
    st.sampled_from([IMPALAConfig, PPOConfig]),
    st.sampled_from(["full", "view"]),
)
def test_both_runners_hand_over_what_was_stepped(
    script: tuple[int, Lengths],
    fragments: int,
    features: int,
    base: type[AlgorithmConfig],
    counts: str,
) -> None:
    num_steps, lengths = script
    made = (
        base()
        .environment(scripted.ENV_ID, env_config={"lengths": lengths, "features": features})
        .env_runners(
            num_env_runners=0,
            num_envs_per_env_runner=len(lengths),
            rollout_fragment_length=num_steps,
        )
        .rl_module(
            rl_module_spec=RLModuleSpec(module_class=StepCounter, model_config={"max_seq_len": 3})
        )
    )
    made = rllib_ride.add_intrinsic_reward(made, method="count", counts=counts)
    expected = sorted(played(lengths, 20 * fragments * num_steps))
    if counts == "view":  # the view shows the step, so that no state repeats within an episode
        expected = [step._replace(n_ep=1, key=0) for step in expected]

    for cls in (BatchedEnvRunner, CountingEnvRunner):
        pieces = sampled(cls, made, fragments)
        found = [step for piece in pieces for step in steps_in(piece)]
        if counts == "view":
            assert len({(s.key, s.env, s.episode, s.t) for s in found}) == len(found)
            found = [step._replace(key=0) for step in found]
        # Each environment's transitions from its first one, without a gap.
        for n in range(len(lengths)):
            mine = sorted(step for step in found if step.env == n)
            assert mine == [step for step in expected if step.env == n][: len(mine)]
        if base is PPOConfig:  # PPO samples until it has the batch size it asked for
            assert len(found) >= fragments * num_steps * len(lengths)
        elif cls is BatchedEnvRunner:
            assert len(found) == len(played(lengths, fragments * num_steps))
        for piece in pieces:
            assert 1 <= len(piece) <= num_steps
            for t in range(len(piece) if base is PPOConfig else 1):
                assert state_before(piece, t, INITIAL_STATE)["n"].tolist() == [piece.t_started + t]
