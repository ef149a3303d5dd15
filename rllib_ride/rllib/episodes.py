"""Episode pieces: cut from a rollout and padded into a batch, without per-step Python objects.

The EnvRunner cuts its arrays with `cut_rollout`; the Learner batches the pieces with
`pad_episodes`. A piece is a `SingleAgentEpisode`, so callbacks, metrics and object store work as
usual.
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
"""A recurrent state: a tree of arrays."""

_NEVER_TAKEN = 1e9
"""Behaviour log-probability of padded steps: makes their ratio rho = exp(log pi - 1e9) zero.

RLlib appends one step to each row for the bootstrap value. Its V-trace gives that step the temporal
difference rho * (0 - V), which propagates to the last real step and cancels the bootstrap value.
With rho = 0 the step contributes only its value.
"""

_FIRST_STATE = "first_state"
"""Key in a piece's `custom_data`: the recurrent state before its first step."""

_FRAGMENT_LENGTH = "fragment_length"
"""Key in a piece's `custom_data`: steps of the longest fragment of any EnvRunner."""


@dataclasses.dataclass
class Rollout:
    """The recording of T steps of N environments in lock-step.

    Attributes:
        observations: `[T + 1, N, ...]`, or a tree of such: one before each step, and the last one.
        actions: `[T, N, ...]`.
        outputs: The policy's outputs by column, `[T, N, ...]` or a tree of such; at least the
            log-probability of the action. With `state_in`, the recurrent state before each step,
            the Learner can begin a row at any step.
        rewards: `[T, N]`.
        terminated: `[T, N]`.
        truncated: `[T, N]`, by the environment's time limit.
        counts: `[T, N]`, N_ep of the state reached.
        state_keys: `[T, N]`, the 64-bit key of the state reached.
        is_reset: `[T, N]`, True where the step was an automatic reset, which is not a transition.
        longest: The largest T of any EnvRunner.
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
        """Number of steps that are not resets."""
        return int(self.is_reset.size - self.is_reset.sum())


def cut_rollout(rollout: Rollout, ids: list[str], started: np.ndarray) -> list[SingleAgentEpisode]:
    """Cuts a rollout into episode pieces, as views of its arrays.

    Args:
        rollout: The recorded arrays.
        ids: Episode id of each environment. Updated in place where episodes end.
        started: `[N]`, step within its episode at which each environment's next piece starts.
            Updated in place.

    Returns:
        Pieces of length 1 to T, with the recurrent states that `state_before` returns.
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
    """Returns steps `start` to `end` (exclusive) of environment `n`, as views of the rollout."""
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
    """Builds a piece of L steps of an episode, marked by `mark_piece`; does not copy the arrays.

    Args:
        observations: `[L + 1, ...]`, or a tree of such: one before each step, and the last one.
        actions: `[L, ...]`.
        rewards: `[L]`.
        outputs: By column, `[L, ...]` or a tree of such; includes state counts and keys.
        fragment_length: See `mark_piece`.
        first_state: See `mark_piece`.
        **kwargs: Other arguments of `SingleAgentEpisode`: `id_`, `terminated`, `truncated` and
            `t_started`.
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
    """Stores in a piece's `custom_data` what the Learner needs besides its steps.

    Args:
        episode: The piece.
        fragment_length: Steps of the longest fragment of any EnvRunner.
        first_state: Recurrent state before the first step. Not needed if the piece begins an
            episode or has the state before each step.

    Returns:
        The same piece.
    """
    episode.custom_data[_FRAGMENT_LENGTH] = fragment_length
    episode.custom_data[_FIRST_STATE] = first_state
    return episode


def fragment_length(episodes: list[SingleAgentEpisode]) -> int:
    """Steps of the longest fragment of any EnvRunner; no piece is longer.

    For a feed-forward policy, RLlib's loss reads the length of a row from the config. With
    `rollout_fragment_length="auto"` some EnvRunners make one step fewer, and all of a batch may
    come from those.
    """
    return int(episodes[0].custom_data[_FRAGMENT_LENGTH])


def state_before(episode: SingleAgentEpisode, t: int, initial_state: State) -> State:
    """The recurrent state before step t of a piece.

    To share PPO's episodes among several Learners, RLlib slices them at any step. A slice keeps the
    outputs of its steps but not `custom_data`, so PPO's pieces store the state before each step.

    Args:
        episode: The piece. If it does not store the state before each step, t must be 0.
        t: Step within the piece.
        initial_state: Recurrent state at the start of an episode.
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
    """Stacks episode pieces into one batch: one row per piece, padded with zeros.

    A piece of L transitions fills L + 1 entries of its row. The last entry holds the final
    observation, for the bootstrap value, and is masked out of every loss.

    Args:
        episodes: Pieces with NumPy data.
        initial_state: Recurrent state at an episode's start, arrays `[...]`; None if not recurrent.
        time_limit_is_terminal: Whether a truncated episode's end counts as terminal.
        num_steps: T, at least the length of the longest piece; None: that length.

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
    # Log-probabilities, counts, keys ...; a row keeps only its first recurrent state.
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
    """A 64-bit number for an episode's id, the same in every process, unlike `hash`."""
    digest = hashlib.blake2b(episode.id_.encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little", signed=True)
