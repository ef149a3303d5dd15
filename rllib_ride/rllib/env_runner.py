"""An EnvRunner that steps all environments in lock-step and records whole arrays.

RLlib's own EnvRunner appends each step of each environment to an episode object in Python. This one
records T x N arrays and cuts them into episodes at the end of each fragment.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import tree
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.core.columns import Columns
from ray.rllib.core.rl_module.torch import TorchRLModule
from ray.rllib.env.single_agent_episode import SingleAgentEpisode

from rllib_ride.rllib.acting import LockStepActor, actions_for_env, reset_each
from rllib_ride.rllib.episodes import Rollout, State, cut_rollout
from rllib_ride.rllib.layouts import kept_outputs
from rllib_ride.rllib.ray_internals import LockStepEnvRunner
from rllib_ride.rllib.settings import ENV_FRAMES, IntrinsicSettings
from rllib_ride.rllib.visits import StateVisits, numeric_entries

_OF_EPISODES = (
    "_episode_ids",
    "_length",
    "_num_starts",
    "_obs",
    "_piece_started",
    "_resetting",
    "_return",
    "_visits",
)


class BatchedEnvRunner(LockStepEnvRunner):
    """Drop-in `env_runner_cls` for Gymnasium vector environments and any TorchRLModule.

    Counts N_ep, the visits to each state in the running episode. Episodes, recurrent states and
    counts continue across fragments. A fragment is `rollout_fragment_length` steps of each
    environment; the step on which an ended environment resets is not a transition.

    Rejects per-episode and per-step callbacks, and custom env-to-module and module-to-env
    connectors: they need RLlib's own runner.
    """

    def start_episodes(self, seeds: list[int] | None) -> None:
        """Resets the environments, counts and recurrent states."""
        obs, infos = reset_each(self.vector_env, seeds)
        self._obs = numeric_entries(obs)
        self._resetting = np.zeros(self.num_envs, bool)
        self._visits = StateVisits.of(self.vector_env, IntrinsicSettings.of(self.config))
        self._visits.begin(self._obs, infos)
        assert isinstance(self.module, TorchRLModule)
        self._actor = LockStepActor(self.module, self.num_envs, self.device)
        self._episode_ids = [SingleAgentEpisode().id_ for _ in range(self.num_envs)]
        self._piece_started = np.zeros(self.num_envs, int)
        self._return = np.zeros(self.num_envs)
        self._length = np.zeros(self.num_envs, int)
        self._episode_began = np.full(self.num_envs, time.perf_counter())

    def sample_fragment(self, num_steps: int, explore: bool) -> list[SingleAgentEpisode]:
        """Steps each environment `num_steps` times and cuts the recording into episodes."""
        rollout = self._record(num_steps, explore)
        ended = int((rollout.terminated | rollout.truncated).sum())
        self.log_fragment(rollout.num_transitions, ended)
        return cut_rollout(rollout, self._episode_ids, self._piece_started)

    def running_episodes(self) -> dict[str, Any] | None:
        """The environments and the full state of their running episodes, for pickling.

        None if no episodes are running, or if the environments are not known to be picklable.
        """
        if not self.has_episodes or not getattr(self.vector_env, "can_be_pickled", False):
            return None
        kept = {name: getattr(self, name) for name in _OF_EPISODES}
        return {"env": self.vector_env, "state": self._actor.state, "kept": kept}

    def go_on_with(self, running: dict[str, Any]) -> bool:
        """Restores what `running_episodes` returned; False if `num_envs` differs."""
        if running["env"].num_envs != self.num_envs:
            return False
        self.env.env = running["env"]
        for name, value in running["kept"].items():
            setattr(self, name, value)
        assert isinstance(self.module, TorchRLModule)
        self._actor = LockStepActor(self.module, self.num_envs, self.device)
        self._actor.state = running["state"]
        self._episode_began = np.full(self.num_envs, time.perf_counter())
        self.has_episodes = True
        return True

    def _record(self, num_steps: int, explore: bool) -> Rollout:
        """Steps all environments `num_steps` times."""
        shape, actor = (num_steps, self.num_envs), self._actor
        timestep = self.num_env_steps_sampled_lifetime
        action_space: Any = self.vector_env.single_action_space
        is_ppo = isinstance(self.config, PPOConfig)
        states: list[State] = []
        outputs: list[dict[str, np.ndarray]] = []
        rollout = Rollout(
            observations=tree.map_structure(
                lambda x: np.empty((num_steps + 1, *x.shape), x.dtype), self._obs
            ),
            actions=np.empty((*shape, *action_space.shape), action_space.dtype),
            outputs={},
            rewards=np.empty(shape, np.float32),
            terminated=np.empty(shape, bool),
            truncated=np.empty(shape, bool),
            counts=np.empty(shape, np.float32),
            state_keys=np.empty(shape, np.int64),
            is_reset=np.empty(shape, bool),
            longest=self.config.get_rollout_fragment_length(),
        )
        self._put(rollout, 0, self._obs)
        env_frames = 0
        for t in range(num_steps):
            if actor.state is not None and (is_ppo or t == 0):  # PPO's rows may begin at any step
                states.append(tree.map_structure(lambda x: x.numpy(force=True).copy(), actor.state))
            actions, output = actor.act(self._obs, explore=explore, timestep=timestep)
            obs, rewards, terminated, truncated, infos = self.vector_env.step(
                actions_for_env(
                    actions,
                    action_space,
                    normalized=self.config.normalize_actions,
                    clip=self.config.clip_actions,
                )
            )
            rollout.actions[t] = actions
            outputs.append(output)
            rollout.is_reset[t] = self._resetting
            rollout.rewards[t] = rewards
            rollout.terminated[t], rollout.truncated[t] = terminated, truncated
            self._put(rollout, t + 1, numeric_entries(obs))
            rollout.state_keys[t], rollout.counts[t] = self._visits.visit(
                self._obs, infos, self._resetting
            )
            if "env_frames" in infos:
                env_frames += int(infos["env_frames"].sum())  # 0 for a reset
            self._log_ended_episodes(rewards, terminated | truncated)
            actor.begin(self._resetting)
            self._resetting = terminated | truncated

        if env_frames:
            self.metrics.log_value(ENV_FRAMES, env_frames, reduce="lifetime_sum")
        for name in kept_outputs(self.config, outputs[0]):
            rollout.outputs[name] = np.stack([output[name] for output in outputs])
        if states and is_ppo:
            rollout.outputs[Columns.STATE_IN] = tree.map_structure(lambda *x: np.stack(x), *states)
        elif states:
            rollout.first_state = states[0]
        return rollout

    def _put(self, rollout: Rollout, t: int, obs: Any) -> None:
        """Copies an observation into the rollout, as the environment may reuse its buffer."""

        def put(column: np.ndarray, value: np.ndarray) -> np.ndarray:
            column[t] = value
            return column[t]

        self._obs = tree.map_structure(put, rollout.observations, obs)

    def _log_ended_episodes(self, rewards: np.ndarray, done: np.ndarray) -> None:
        """Logs return and length of episodes that end at this step, over all their fragments."""
        self._return += rewards * ~self._resetting
        self._length += ~self._resetting
        if not done.any():
            return
        now = time.perf_counter()
        for n in np.flatnonzero(done):
            self.log_episode(
                int(self._length[n]), float(self._return[n]), now - self._episode_began[n]
            )
        self._return[done], self._length[done], self._episode_began[done] = 0.0, 0, now
