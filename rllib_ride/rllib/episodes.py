"""Episode pieces without per-step objects: cut from a rollout, put together to a batch.

`cut_rollout` is what the EnvRunner does with its arrays, `pad_episodes` what the Learner does
with the pieces. They meet in RLlib's own `SingleAgentEpisode`, so that callbacks, metrics and
object store see what they always see.
"""

from __future__ import annotations

import dataclasses
import hashlib
from typing import Any

import numpy as np
from ray.rllib.core.columns import Columns
from ray.rllib.env.single_agent_episode import SingleAgentEpisode
from ray.rllib.env.utils.infinite_lookback_buffer import InfiniteLookbackBuffer

from rllib_ride.rllib.settings import EPISODE_IDS, EPISODIC_COUNTS, STATE_KEYS, T_STARTED

_NEVER_TAKEN = 1e9
"""Behaviour log-probability of a padded step: its importance ratio exp(log pi - 1e9) is 0.

RLlib appends one step to each row for the bootstrap value. Its V-trace gives that step the
temporal difference rho * (0 - V), which flows back into the last real step and cancels the very
value it was appended for. With a ratio of 0 the step contributes nothing but its value.
"""


@dataclasses.dataclass
class Rollout:
    """T steps of N environments in lock-step, as recorded.

    Attributes:
        observations: `[T + 1, N, ...]`, the one before each step and the last one.
        actions: `[T, N, ...]`.
        logp: `[T, N]`, log-probability of the action under the policy that took it.
        rewards: `[T, N]`.
        terminated: `[T, N]`.
        truncated: `[T, N]`, by the environment's time limit.
        counts: `[T, N]`, N_ep of the state reached.
        state_keys: `[T, N]`, the 64-bit key of the state reached.
        is_reset: `[T, N]`, the step was an automatic reset: no transition.
        state_in: Recurrent state before the first step, arrays `[N, ...]`; None if there is none.
    """

    observations: np.ndarray
    actions: np.ndarray
    logp: np.ndarray
    rewards: np.ndarray
    terminated: np.ndarray
    truncated: np.ndarray
    counts: np.ndarray
    state_keys: np.ndarray
    is_reset: np.ndarray
    state_in: dict[str, np.ndarray] | None

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
        Pieces of length 1 to T. A piece that continues an episode carries the recurrent state it
        starts from in `custom_data["state_in"]`.
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
                if start == 0 and started[n] > 0 and rollout.state_in is not None:
                    episode.custom_data["state_in"] = {
                        key: value[n] for key, value in rollout.state_in.items()
                    }
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
    buffer = InfiniteLookbackBuffer
    return SingleAgentEpisode(
        id_=id_,
        observations=buffer(rollout.observations[start : end + 1, n]),
        infos=buffer([{}] * (end - start + 1)),
        actions=buffer(rollout.actions[start:end, n]),
        rewards=buffer(rollout.rewards[start:end, n]),
        extra_model_outputs={
            Columns.ACTION_LOGP: buffer(rollout.logp[start:end, n]),
            EPISODIC_COUNTS: buffer(rollout.counts[start:end, n]),
            STATE_KEYS: buffer(rollout.state_keys[start:end, n]),
        },
        terminated=bool(rollout.terminated[end - 1, n]),
        truncated=bool(rollout.truncated[end - 1, n]),
        t_started=t_started,
        len_lookback_buffer=0,
    )


def pad_episodes(
    episodes: list[SingleAgentEpisode],
    initial_state: dict[str, np.ndarray] | None,
    *,
    time_limit_is_terminal: bool,
) -> dict[str, Any]:
    """Puts episode pieces together to one batch: a row a piece, padded with zeros.

    A piece of L transitions fills L + 1 entries of its row: the last one holds the observation
    it ended in, for the bootstrap value, and is masked out of every loss.

    Args:
        episodes: Pieces with NumPy data.
        initial_state: Recurrent state at an episode's start, arrays `[...]`; None if not recurrent.
        time_limit_is_terminal: Whether a truncated episode's end counts as terminal.

    Returns:
        RLlib's columns, arrays `[B, T + 1, ...]` with T the longest piece; `seq_lens`,
        `episode_ids` and `t_started` `[B]`, and `state_in` `[B, ...]`.
    """
    lengths = np.array([len(episode) for episode in episodes])
    shape = (len(episodes), int(lengths.max()) + 1)
    first = episodes[0]

    def zeros(data: np.ndarray, dtype: Any = None) -> np.ndarray:
        return np.zeros(shape + data.shape[1:], dtype or data.dtype)

    batch: dict[str, Any] = {
        Columns.OBS: zeros(first.observations.data),
        Columns.ACTIONS: zeros(first.actions.data),
        Columns.REWARDS: zeros(first.rewards.data, np.float32),
        Columns.TERMINATEDS: np.zeros(shape, bool),
        Columns.TRUNCATEDS: np.zeros(shape, bool),
        Columns.ACTION_LOGP: np.full(shape, _NEVER_TAKEN, np.float32),
        EPISODIC_COUNTS: np.ones(shape, np.float32),
        STATE_KEYS: np.zeros(shape, np.int64),
        EPISODE_IDS: np.array([_episode_number(episode) for episode in episodes]),
        T_STARTED: np.array([episode.t_started for episode in episodes]),
        Columns.LOSS_MASK: np.arange(shape[1]) < lengths[:, None],
        Columns.SEQ_LENS: (lengths + 1).astype(np.int32),
    }
    for row, episode in enumerate(episodes):
        steps = int(lengths[row])
        extra = episode.extra_model_outputs
        batch[Columns.OBS][row, : steps + 1] = episode.observations.data
        batch[Columns.ACTIONS][row, :steps] = episode.actions.data
        batch[Columns.REWARDS][row, :steps] = episode.rewards.data
        batch[Columns.ACTION_LOGP][row, :steps] = extra[Columns.ACTION_LOGP].data
        batch[EPISODIC_COUNTS][row, :steps] = extra[EPISODIC_COUNTS].data
        batch[STATE_KEYS][row, :steps] = extra[STATE_KEYS].data
        ended_by_limit = time_limit_is_terminal and episode.is_truncated
        batch[Columns.TERMINATEDS][row, steps - 1] = episode.is_terminated or ended_by_limit
        batch[Columns.TRUNCATEDS][row, steps - 1] = not batch[Columns.TERMINATEDS][row, steps - 1]

    if initial_state is not None:
        states = [episode.custom_data.get("state_in", initial_state) for episode in episodes]
        batch[Columns.STATE_IN] = {
            key: np.stack([state[key] for state in states]) for key in initial_state
        }
    return batch


def _episode_number(episode: SingleAgentEpisode) -> int:
    """A number for an episode's id, the same in every process; `hash` of a str is not."""
    digest = hashlib.blake2b(episode.id_.encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little", signed=True)
