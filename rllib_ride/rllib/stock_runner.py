"""RLlib's own EnvRunner, with the state counts that an intrinsic reward needs."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import tree
from gymnasium.vector import VectorEnv, VectorWrapper
from ray.rllib.algorithms.algorithm_config import AlgorithmConfig
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.core.columns import Columns
from ray.rllib.env.single_agent_episode import SingleAgentEpisode

from rllib_ride.rllib.episodes import State, piece_of
from rllib_ride.rllib.layouts import kept_outputs
from rllib_ride.rllib.ray_internals import BaseEnvRunner
from rllib_ride.rllib.settings import EPISODIC_COUNTS, STATE_KEYS, IntrinsicSettings
from rllib_ride.rllib.visits import StateVisits, numeric_entries


class CountingEnvRunner(BaseEnvRunner):
    """Supports what `BatchedEnvRunner` does not call: per-step callbacks and custom connectors.

    Every step of every environment goes through Python: expect a third of its speed or less.
    """

    def make_env(self) -> None:
        """Builds the vector environment as RLlib does, wrapped in `CountVisits`."""
        super().make_env()
        # Inserted inside RLlib's wrapper: dropping that wrapper would close the environment.
        self.env.env = CountVisits(self.vector_env, IntrinsicSettings.of(self.config))

    def sample(self, **kwargs: Any) -> list[SingleAgentEpisode]:
        """As RLlib's, but cuts episodes into pieces of at most a fragment."""
        return [
            piece
            for episode in super().sample(**kwargs)
            if len(episode)
            for piece in _pieces(episode, self.config)
        ]


class CountVisits(VectorWrapper):
    """Adds each environment's state key and N_ep to the infos.

    Copies observations: RLlib keeps references, and an environment may reuse its buffer.
    """

    def __init__(self, env: VectorEnv, settings: IntrinsicSettings) -> None:
        super().__init__(env)
        self._visits = StateVisits.of(env, settings)

    def reset(self, **kwargs: Any) -> tuple[Any, dict[str, Any]]:
        """Resets; counts an episode's first observation as a visit."""
        obs: Any
        obs, infos = super().reset(**kwargs)
        self._ended = np.zeros(self.num_envs, bool)
        infos = self._counted(obs, infos, begins=np.ones(self.num_envs, bool))
        return copy.deepcopy(obs), infos

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """Steps; counts the states reached."""
        step: tuple[Any, ...] = super().step(actions)
        obs, rewards, terminated, truncated, infos = step
        infos = self._counted(obs, infos, begins=self._ended)
        self._ended = terminated | truncated
        return copy.deepcopy(obs), rewards, terminated, truncated, infos

    def _counted(self, obs: Any, infos: dict[str, Any], begins: Any) -> dict[str, Any]:
        keys, counts = self._visits.visit(numeric_entries(obs), infos, begins)
        return {**infos, STATE_KEYS: keys, EPISODIC_COUNTS: counts}


def _pieces(episode: SingleAgentEpisode, config: AlgorithmConfig) -> list[SingleAgentEpisode]:
    """Cuts an episode of RLlib's runner into pieces like those of `cut_rollout`.

    RLlib samples a total number of steps over all environments, so a single environment may exceed
    the length of a fragment.

    Args:
        episode: With NumPy data.
        config: The algorithm's; defines the length of a fragment and the columns to keep.
    """
    num_steps = config.get_rollout_fragment_length()
    infos: Any = episode.get_infos()[1:]
    outputs: dict[str, Any] = {
        EPISODIC_COUNTS: np.array([info[EPISODIC_COUNTS] for info in infos], np.float32),
        STATE_KEYS: np.array([info[STATE_KEYS] for info in infos], np.int64),
    }
    for name in kept_outputs(config, episode.extra_model_outputs):
        outputs[name] = episode.get_extra_model_outputs(name)
    states = None
    if Columns.STATE_OUT in episode.extra_model_outputs:
        states = _states_before(episode)
        if isinstance(config, PPOConfig):  # its rows may begin at any step
            outputs[Columns.STATE_IN] = states
    observations = numeric_entries(episode.get_observations())
    actions, rewards = episode.get_actions(), episode.get_rewards()

    def piece(start: int, end: int) -> SingleAgentEpisode:
        first = tree.map_structure(lambda x: x[start], states) if states is not None else None
        return piece_of(
            observations=tree.map_structure(lambda x: x[start : end + 1], observations),
            actions=actions[start:end],
            rewards=rewards[start:end],
            outputs=tree.map_structure(lambda x: x[start:end], outputs),
            fragment_length=num_steps,
            first_state=first,
            id_=episode.id_,
            terminated=episode.is_terminated and end == len(episode),
            truncated=episode.is_truncated and end == len(episode),
            t_started=episode.t_started + start,
        )

    starts = range(0, len(episode), num_steps)
    return [piece(start, min(start + num_steps, len(episode))) for start in starts]


def _states_before(episode: SingleAgentEpisode) -> State:
    """The policy's recurrent state before each step, `[T, ...]`: its output one step earlier.

    At an episode's first step the entry is 0 and unused: the Learner knows the initial state.
    """
    after: State = episode.get_extra_model_outputs(Columns.STATE_OUT)
    if episode.t_started == 0:
        first = tree.map_structure(lambda x: np.zeros_like(x[0]), after)
    else:
        first = episode.get_extra_model_outputs(Columns.STATE_OUT, -1, neg_index_as_lookback=True)
    return tree.map_structure(lambda x, y: np.concatenate((x[None], y[:-1])), first, after)
