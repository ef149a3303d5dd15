"""Episode pieces without per-step objects: cut from a rollout, put together to a batch.

`cut_rollout` is what the EnvRunner does with its arrays, `pad_episodes` what the Learner does
with the pieces. They meet in RLlib's own `SingleAgentEpisode`, so that callbacks, metrics and
object store see what they always see.
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Mapping
from typing import Any

import numpy as np
import tree
from ray.rllib.core.columns import Columns
from ray.rllib.env.single_agent_episode import SingleAgentEpisode
from ray.rllib.env.utils.infinite_lookback_buffer import InfiniteLookbackBuffer

from rllib_ride.rllib.settings import EPISODE_IDS, EPISODIC_COUNTS, STATE_KEYS, T_STARTED

State = dict[str, Any]
"""A recurrent state, a tree of arrays."""

_NEVER_TAKEN = 1e9
"""Behaviour log-probability of a padded step: its importance ratio exp(log pi - 1e9) is 0.

RLlib appends one step to each row for the bootstrap value. Its V-trace gives that step the
temporal difference rho * (0 - V), which flows back into the last real step and cancels the very
value it was appended for. With a ratio of 0 the step contributes nothing but its value.
"""

_FIRST_STATE = "first_state"
"""Where a piece keeps, in `custom_data`, the recurrent state before its first step."""

_FRAGMENT_LENGTH = "fragment_length"
"""Where it keeps the steps of the longest fragments of any EnvRunner."""


@dataclasses.dataclass
class Rollout:
    """T steps of N environments in lock-step, as recorded.

    Attributes:
        observations: `[T + 1, N, ...]`, or a dict of such: the one before each step and the last.
        actions: `[T, N, ...]`.
        outputs: Of the policy for each step, by column, `[T, N, ...]` or a tree of such: the
            log-probability of the action at least. With `state_in`, the recurrent state before the
            step, the Learner may begin a row at any.
        rewards: `[T, N]`.
        terminated: `[T, N]`.
        truncated: `[T, N]`, by the environment's time limit.
        counts: `[T, N]`, N_ep of the state reached.
        state_keys: `[T, N]`, the 64-bit key of the state reached.
        is_reset: `[T, N]`, the step was an automatic reset: no transition.
        longest: T of the EnvRunner whose fragments are longest.
        first_state: Recurrent state before step 0, arrays `[N, ...]`; None if there is none.
    """

    observations: Any
    actions: np.ndarray
    outputs: dict[str, Any]
    rewards: np.ndarray
    terminated: np.ndarray
    truncated: np.ndarray
    counts: np.ndarray
    state_keys: np.ndarray
    is_reset: np.ndarray
    longest: int
    first_state: State | None = None

    @property
    def num_transitions(self) -> int:
        """Steps that an agent chose."""
        return int(self.is_reset.size - self.is_reset.sum())


def cut_rollout(rollout: Rollout, ids: list[str], started: np.ndarray) -> list[SingleAgentEpisode]:
    """Cuts a rollout into episode pieces, as views of its arrays.

    Args:
        rollout: The recorded arrays.
        ids: Episode id per environment. Entries of ended episodes are replaced by new ones.
        started: `[N]`, time step at which each environment's current piece starts within its
            episode. Brought up to date.

    Returns:
        Pieces of length 1 to T, with the recurrent states that `state_before` gives.
    """
    episodes = []
    num_steps, num_envs = rollout.is_reset.shape
    done = rollout.terminated | rollout.truncated
    for n in range(num_envs):
        start = 0
        for end in [*np.flatnonzero(done[:, n]) + 1, num_steps]:
            if start < num_steps and rollout.is_reset[start, n]:
                start += 1
            if start < end:
                episode = _piece(rollout, n, start, end, ids[n], int(started[n]))
                episodes.append(episode)
                started[n] += end - start
                if episode.is_done:
                    ids[n] = SingleAgentEpisode().id_
                    started[n] = 0
            start = end
    return episodes


def _piece(
    rollout: Rollout, n: int, start: int, end: int, id_: str, t_started: int
) -> SingleAgentEpisode:
    """Steps `start` to `end` (exclusive) of environment `n` as an episode of NumPy views."""
    of_states = {EPISODIC_COUNTS: rollout.counts, STATE_KEYS: rollout.state_keys}
    outputs = {**rollout.outputs, **of_states}
    state = None
    if start == 0 and rollout.first_state is not None:
        state = tree.map_structure(lambda x: x[n], rollout.first_state)
    return piece_of(
        observations=tree.map_structure(lambda x: x[start : end + 1, n], rollout.observations),
        actions=rollout.actions[start:end, n],
        rewards=rollout.rewards[start:end, n],
        outputs=tree.map_structure(lambda x: x[start:end, n], outputs),
        fragment_length=rollout.longest,
        first_state=state,
        id_=id_,
        terminated=bool(rollout.terminated[end - 1, n]),
        truncated=bool(rollout.truncated[end - 1, n]),
        t_started=t_started,
    )


def piece_of(
    *,
    observations: Any,
    actions: np.ndarray,
    rewards: np.ndarray,
    outputs: Mapping[str, Any],
    fragment_length: int,
    first_state: State | None,
    **kwargs: Any,
) -> SingleAgentEpisode:
    """A piece of L steps of an episode, marked as `mark_piece` does; arrays are not copied.

    Args:
        observations: `[L + 1, ...]`, or a tree of such: the one before each step and the last.
        actions: `[L, ...]`.
        rewards: `[L]`.
        outputs: By column, `[L, ...]` or a tree of such; counts and keys of states among them.
        fragment_length: See `mark_piece`.
        first_state: See `mark_piece`.
        **kwargs: More of `SingleAgentEpisode`: id, end, and the step at which the piece starts.
    """
    buffer = InfiniteLookbackBuffer
    episode = SingleAgentEpisode(
        observations=buffer(observations),
        infos=buffer([{}] * (len(rewards) + 1)),
        actions=buffer(actions),
        rewards=buffer(rewards),
        extra_model_outputs={name: buffer(values) for name, values in outputs.items()},
        len_lookback_buffer=0,
        **kwargs,
    )
    return mark_piece(episode, fragment_length, first_state)


def mark_piece(
    episode: SingleAgentEpisode, fragment_length: int, first_state: State | None = None
) -> SingleAgentEpisode:
    """Notes on a piece what the Learner needs beside its steps.

    Args:
        episode: The piece.
        fragment_length: Steps of the longest fragments of any EnvRunner.
        first_state: Recurrent state before its first step; not needed if it has that of each step,
            or begins an episode.

    Returns:
        The same piece.
    """
    episode.custom_data[_FRAGMENT_LENGTH] = fragment_length
    episode.custom_data[_FIRST_STATE] = first_state
    return episode


def fragment_length(episodes: list[SingleAgentEpisode]) -> int:
    """Steps of the longest fragments of any EnvRunner: no piece is longer.

    RLlib's loss of a feed-forward policy takes the steps of a row from the config. With
    `rollout_fragment_length="auto"` some EnvRunners make one step less, and a batch may be theirs.
    """
    return int(episodes[0].custom_data[_FRAGMENT_LENGTH])


def state_before(episode: SingleAgentEpisode, t: int, initial_state: State) -> State:
    """The recurrent state before step t of a piece.

    RLlib shares PPO's episodes among several Learners by slicing them anywhere. A slice has the
    outputs of its steps but no `custom_data`, so PPO's pieces have a state for each step.

    Args:
        episode: The piece; without a state for each step only t = 0 is known.
        t: Step within the piece.
        initial_state: Recurrent state at an episode's start.
    """
    if episode.t_started + t == 0:
        return initial_state
    state: Any
    if Columns.STATE_IN in episode.extra_model_outputs:
        state = episode.get_extra_model_outputs(Columns.STATE_IN, t)
    else:
        assert t == 0, f"the recurrent state before step {t} of a piece was not kept"
        state = episode.custom_data[_FIRST_STATE]
    return state


def pad_episodes(
    episodes: list[SingleAgentEpisode],
    initial_state: State | None,
    *,
    time_limit_is_terminal: bool,
    num_steps: int | None = None,
) -> dict[str, Any]:
    """Puts episode pieces together to one batch: a row a piece, padded with zeros.

    A piece of L transitions fills L + 1 entries of its row: the last one holds the observation
    it ended in, for the bootstrap value, and is masked out of every loss.

    Args:
        episodes: Pieces with NumPy data.
        initial_state: Recurrent state at an episode's start, arrays `[...]`; None if not recurrent.
        time_limit_is_terminal: Whether a truncated episode's end counts as terminal.
        num_steps: T, at least the length of the longest piece, which is the default.

    Returns:
        RLlib's columns, arrays `[B, T + 1, ...]`; `seq_lens`, `episode_ids` and `t_started` `[B]`,
        and `state_in` `[B, ...]`.
    """
    lengths = np.array([len(episode) for episode in episodes])
    shape = (len(episodes), (num_steps or int(lengths.max())) + 1)
    first = episodes[0]

    def zeros(data: np.ndarray) -> np.ndarray:
        return np.zeros(shape + data.shape[1:], data.dtype)

    batch: dict[str, Any] = {
        Columns.OBS: tree.map_structure(zeros, first.get_observations()),
        Columns.ACTIONS: zeros(first.get_actions()),
        Columns.REWARDS: np.zeros(shape, np.float32),
        Columns.TERMINATEDS: np.zeros(shape, bool),
        Columns.TRUNCATEDS: np.zeros(shape, bool),
        Columns.LOSS_MASK: np.arange(shape[1]) < lengths[:, None],
        Columns.SEQ_LENS: (lengths + 1).astype(np.int32),
        EPISODE_IDS: np.array([_episode_number(episode) for episode in episodes]),
        T_STARTED: np.array([episode.t_started for episode in episodes]),
    }
    # Log-probabilities, counts, keys ...; of the states a row has the first alone.
    columns = [name for name in first.extra_model_outputs if name != Columns.STATE_IN]
    for name in columns:
        batch[name] = zeros(first.get_extra_model_outputs(name))
    batch[Columns.ACTION_LOGP] = np.full(shape, _NEVER_TAKEN, np.float32)
    batch[EPISODIC_COUNTS] = np.ones(shape, np.float32)

    for row, episode in enumerate(episodes):
        steps = int(lengths[row])

        def fill(column: np.ndarray, data: np.ndarray, row: int = row) -> None:
            column[row, : len(data)] = data

        tree.map_structure(fill, batch[Columns.OBS], episode.get_observations())
        fill(batch[Columns.ACTIONS], episode.get_actions())
        fill(batch[Columns.REWARDS], episode.get_rewards())
        for name in columns:
            fill(batch[name], episode.get_extra_model_outputs(name))
        ended_by_limit = time_limit_is_terminal and episode.is_truncated
        batch[Columns.TERMINATEDS][row, steps - 1] = episode.is_terminated or ended_by_limit
        batch[Columns.TRUNCATEDS][row, steps - 1] = not batch[Columns.TERMINATEDS][row, steps - 1]

    if initial_state is not None:
        states = [state_before(episode, 0, initial_state) for episode in episodes]
        batch[Columns.STATE_IN] = tree.map_structure(lambda *x: np.stack(x), *states)
    return batch


def _episode_number(episode: SingleAgentEpisode) -> int:
    """A number for an episode's id, the same in every process; `hash` of a str is not."""
    digest = hashlib.blake2b(episode.id_.encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little", signed=True)
