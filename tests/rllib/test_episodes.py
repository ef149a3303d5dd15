"""Cutting rollouts into episodes, padding these to a batch, and V-trace on the batch."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from ray.rllib.core import DEFAULT_MODULE_ID
from ray.rllib.core.columns import Columns
from ray.rllib.env.single_agent_episode import SingleAgentEpisode

from helpers.learners import logged, table_learner
from rllib_ride.rllib.episodes import Rollout, cut_rollout, pad_episodes
from rllib_ride.rllib.settings import EPISODE_IDS, EPISODIC_COUNTS, STATE_KEYS, T_STARTED

T, N = 11, 3


def rollout(ends: dict[int, list[int]], truncated: bool = False) -> Rollout:
    """Steps numbered 100 t + n; `ends` maps an environment to the last steps of its episodes."""
    number = 100.0 * np.arange(T)[:, None] + np.arange(N)  # [T, N]
    done = np.zeros((T, N), bool)
    for n, steps in ends.items():
        done[steps, n] = True
    is_reset = np.zeros((T, N), bool)
    is_reset[1:] = done[:-1]
    return Rollout(
        observations=100.0 * np.arange(T + 1)[:, None, None] + np.arange(N)[:, None],  # [T+1, N, 1]
        actions=(np.arange(T)[:, None] + np.arange(N)) % 5,
        outputs={Columns.ACTION_LOGP: -number / 1e4},
        rewards=number,
        terminated=done & (not truncated),
        truncated=done & truncated,
        counts=number + 1,
        state_keys=(number + 2).astype(np.int64),
        is_reset=is_reset,
        longest=T,
        first_state={"h": np.arange(N)[:, None] + 0.5},
    )


ENDS: dict[int, list[int]] = {0: [], 1: [2, 8], 2: [0, T - 1]}
# (environment, first step, step after the last, done), without the reset step after an end.
PIECES = [(0, 0, 11, False), (1, 0, 3, True), (1, 4, 9, True), (1, 10, 11, False)]
PIECES += [(2, 0, 1, True), (2, 2, 11, True)]


def test_every_transition_is_in_one_piece_and_no_reset_is() -> None:
    started = np.array([7, 0, 3])
    ids = ["a", "b", "c"]
    recorded = rollout(ENDS)
    episodes = cut_rollout(recorded, ids, started)

    assert sum(map(len, episodes)) == recorded.num_transitions
    for episode, (n, start, end, done) in zip(episodes, PIECES, strict=True):
        np.testing.assert_array_equal(
            episode.get_observations()[:, 0], 100 * np.arange(start, end + 1) + n
        )
        np.testing.assert_array_equal(episode.get_rewards(), 100 * np.arange(start, end) + n)
        assert episode.is_terminated == done and not episode.is_truncated
    # Each piece's position in its episode, and which episodes continue in the next rollout.
    assert [e.t_started for e in episodes] == [7, 0, 0, 0, 3, 0]
    assert [e.id_ for e in episodes][:2] == ["a", "b"] and episodes[4].id_ == "c"
    assert len({e.id_ for e in episodes}) == 6
    assert list(started) == [18, 1, 0]
    assert ids[0] == "a" and ids[1] == episodes[3].id_ and ids[2] not in {e.id_ for e in episodes}


def test_only_a_continued_piece_starts_from_the_recorded_state() -> None:
    episodes = cut_rollout(rollout(ENDS), ["a", "b", "c"], np.array([7, 0, 3]))
    batch = pad_episodes(episodes, {"h": np.array([0.0])}, time_limit_is_terminal=True)
    np.testing.assert_array_equal(batch[Columns.STATE_IN]["h"][:, 0], [0.5, 0, 0, 0, 2.5, 0])


def test_rows_are_padded_after_the_observation_a_piece_ends_in() -> None:
    episodes = cut_rollout(rollout(ENDS), ["a", "b", "c"], np.array([7, 0, 3]))
    batch = pad_episodes(episodes, None, time_limit_is_terminal=True)
    wider = pad_episodes(episodes, None, time_limit_is_terminal=True, num_steps=15)
    assert wider[Columns.OBS].shape[:2] == (6, 16)
    np.testing.assert_array_equal(wider[Columns.OBS][:, :12], batch[Columns.OBS])
    assert Columns.STATE_IN not in batch
    for row, (n, start, end, done) in enumerate(PIECES):
        steps = end - start
        number = 100.0 * np.arange(start, end) + n
        assert batch[Columns.SEQ_LENS][row] == steps + 1
        assert batch[Columns.LOSS_MASK][row].tolist() == [True] * steps + [False] * (12 - steps)
        np.testing.assert_array_equal(
            batch[Columns.OBS][row, : steps + 1, 0], [*number, end * 100 + n]
        )
        np.testing.assert_array_equal(batch[Columns.OBS][row, steps + 1 :], 0)
        np.testing.assert_array_equal(batch[Columns.REWARDS][row, :steps], number)
        np.testing.assert_array_equal(batch[EPISODIC_COUNTS][row, :steps], number + 1)
        np.testing.assert_array_equal(batch[STATE_KEYS][row, :steps], number + 2)
        assert batch[Columns.TERMINATEDS][row].sum() == done
        assert batch[Columns.TERMINATEDS][row, steps - 1] == done


def test_pieces_of_one_episode_share_a_number_and_know_where_they_begin() -> None:
    ids, started = ["a", "b", "c"], np.array([7, 0, 3])
    first = cut_rollout(rollout(ENDS), ids, started)
    second = cut_rollout(rollout({0: [], 1: [], 2: []}), ids, started)
    batch = pad_episodes(first + second, None, time_limit_is_terminal=True)
    numbers = batch[EPISODE_IDS].tolist()
    assert numbers[6:8] == [numbers[0], numbers[3]]  # these two episodes continue
    assert len(set(numbers)) == 7
    assert batch[T_STARTED].tolist() == [7, 0, 0, 0, 3, 0, 18, 1, 0]


@pytest.mark.parametrize("terminal", [True, False])
def test_a_time_limit_is_terminal_only_if_so_set(terminal: bool) -> None:
    episodes = cut_rollout(rollout({0: [4]}, truncated=True), ["a", "b", "c"], np.zeros(3, int))
    batch = pad_episodes(episodes, None, time_limit_is_terminal=terminal)
    assert episodes[0].is_truncated
    assert batch[Columns.TERMINATEDS][0, 4] == terminal
    assert batch[Columns.TRUNCATEDS][0, 4] != terminal


def test_vtrace_bootstraps_from_the_value_a_piece_ends_in() -> None:
    """Compares with V-trace as an explicit sum (Espeholt et al. 2018, equation 1), per piece."""
    rng = np.random.default_rng(0)
    gamma, lengths = 0.9, [5, 2, 4]
    episodes = [
        SingleAgentEpisode(
            observations=list(rng.normal(size=(n + 1, 1))),
            actions=list(rng.integers(4, size=n)),
            rewards=list(rng.normal(size=n)),
            extra_model_outputs={
                Columns.ACTION_LOGP: list(-rng.uniform(0.5, 3, size=n)),
                EPISODIC_COUNTS: [1.0] * n,
                STATE_KEYS: [0] * n,
            },
            terminated=row == 1,
            len_lookback_buffer=0,
        ).to_numpy()
        for row, n in enumerate(lengths)
    ]
    logits, values = rng.normal(size=(3, 6, 4)), rng.normal(size=(3, 6))
    columns = pad_episodes(episodes, None, time_limit_is_terminal=True)
    batch = {key: torch.as_tensor(value) for key, value in columns.items()}

    learner = table_learner(logits.astype(np.float32), values.astype(np.float32), gamma=gamma)
    try:
        fwd_out = learner.module.forward_train({DEFAULT_MODULE_ID: batch})
        learner.compute_losses(fwd_out=fwd_out, batch={DEFAULT_MODULE_ID: batch})
        vf_loss = logged(learner, DEFAULT_MODULE_ID, "vf_loss")
    finally:
        learner.shutdown()

    squares = []
    for row, episode in enumerate(episodes):
        log_pi = logits[row] - np.log(np.exp(logits[row]).sum(-1, keepdims=True))
        a, r, v = episode.get_actions(), episode.get_rewards(), values[row]
        n = lengths[row]
        mu = episode.get_extra_model_outputs(Columns.ACTION_LOGP)
        rho = np.minimum(1, np.exp(log_pi[np.arange(n), a] - mu))
        not_over = np.array([1.0] * (n - 1) + [0.0 if episode.is_terminated else 1.0])
        delta = rho * (r + gamma * not_over * v[1 : n + 1] - v[:n])
        for s in range(n):
            squares += [
                sum(gamma ** (t - s) * np.prod(rho[s:t]) * delta[t] for t in range(s, n)) ** 2
            ]
    assert vf_loss == pytest.approx(0.5 * sum(squares), rel=1e-4)
