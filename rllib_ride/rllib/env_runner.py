"""An EnvRunner that steps all environments in lock-step and records whole arrays.

RLlib's own adds every step of every environment to an episode object, in Python. This one records
T x N arrays and cuts them into episodes at the end of a fragment.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode
from ray.rllib.core.rl_module.torch import TorchRLModule
from ray.rllib.env.single_agent_episode import SingleAgentEpisode

from rllib_ride.intrinsic.counts import EpisodicCounter, hash_observations
from rllib_ride.rllib.acting import LockStepActor
from rllib_ride.rllib.episodes import Rollout, cut_rollout
from rllib_ride.rllib.ray_internals import LockStepEnvRunner
from rllib_ride.rllib.settings import IntrinsicSettings


class BatchedEnvRunner(LockStepEnvRunner):
    """Drop-in `env_runner_cls` for Gymnasium vector environments and any TorchRLModule.

    Keeps N_ep, the visits of each state in the running episode, for the intrinsic reward. Episodes,
    recurrent states and counts go on over fragments. A fragment is `rollout_fragment_length` steps
    of each environment; the step on which an ended environment resets itself is no transition.

    Callbacks per episode or step and custom env-to-module or module-to-env connectors need RLlib's
    own runner, and are refused.
    """

    def make_env(self) -> None:
        """Builds the vector environment as RLlib does; refuses one that resets in another way."""
        super().make_env()
        mode = self.vector_env.metadata.get("autoreset_mode", AutoresetMode.NEXT_STEP)
        if mode != AutoresetMode.NEXT_STEP:
            raise ValueError(
                f"vector environment {self.config.env} has autoreset_mode {mode}; "
                f"want {AutoresetMode.NEXT_STEP}"
            )

    def start_episodes(self, seeds: list[int] | None) -> None:
        """Resets environments, counts and recurrent states."""
        self._counts = IntrinsicSettings.of(self.config).counts
        self._obs, infos = self.vector_env.reset(seed=seeds)  # type: ignore[arg-type]  # one each
        self._resetting = np.zeros(self.num_envs, bool)
        self._counter = EpisodicCounter(self.num_envs)
        self._counter.visit(self._state_keys(self._obs, infos), np.ones(self.num_envs, bool))
        assert isinstance(self.module, TorchRLModule)
        self._actor = LockStepActor(self.module, self.num_envs, self.device)
        self._episode_ids = [SingleAgentEpisode().id_ for _ in range(self.num_envs)]
        self._piece_started = np.zeros(self.num_envs, int)
        self._return = np.zeros(self.num_envs)
        self._length = np.zeros(self.num_envs, int)
        self._episode_began = np.full(self.num_envs, time.perf_counter())

    def sample_fragment(self, num_steps: int, explore: bool) -> list[SingleAgentEpisode]:
        """Steps each environment `num_steps` times and cuts what was recorded into episodes."""
        rollout = self._record(num_steps, explore)
        ended = int((rollout.terminated | rollout.truncated).sum())
        self.log_fragment(rollout.num_transitions, ended)
        return cut_rollout(rollout, self._episode_ids, self._piece_started)

    def _record(self, num_steps: int, explore: bool) -> Rollout:
        """Steps all environments `num_steps` times."""
        shape, state = (num_steps, self.num_envs), self._actor.state
        action_space: Any = self.vector_env.single_action_space
        state_in = None
        if state is not None:
            state_in = {key: value.numpy(force=True).copy() for key, value in state.items()}
        timestep = self.num_env_steps_sampled_lifetime
        rollout = Rollout(
            observations=np.empty((num_steps + 1, *self._obs.shape), self._obs.dtype),
            actions=np.empty((*shape, *action_space.shape), action_space.dtype),
            logp=np.empty(shape, np.float32),
            rewards=np.empty(shape, np.float32),
            terminated=np.empty(shape, bool),
            truncated=np.empty(shape, bool),
            counts=np.empty(shape, np.float32),
            state_keys=np.empty(shape, np.int64),
            is_reset=np.empty(shape, bool),
            state_in=state_in,
        )
        rollout.observations[0] = self._obs
        for t in range(num_steps):
            actions, logp = self._actor.act(self._obs, explore=explore, timestep=timestep)
            obs, rewards, terminated, truncated, infos = self.vector_env.step(actions)

            rollout.actions[t], rollout.logp[t] = actions, logp
            rollout.is_reset[t] = self._resetting
            rollout.rewards[t] = rewards
            rollout.terminated[t], rollout.truncated[t] = terminated, truncated
            rollout.observations[t + 1] = obs
            keys = self._state_keys(obs, infos)
            rollout.state_keys[t] = keys.view(np.int64)
            rollout.counts[t] = self._count(keys)

            self._log_ended_episodes(rewards, terminated | truncated)
            self._actor.begin(self._resetting)
            self._obs, self._resetting = rollout.observations[t + 1], terminated | truncated
        return rollout

    def _count(self, keys: np.ndarray) -> np.ndarray:
        """N_ep of each environment's new state, `[N]`, this visit included."""
        self._counter.reset(self._resetting)
        return self._counter.visit(keys, np.ones(self.num_envs, bool))

    def _state_keys(self, obs: np.ndarray, infos: dict[str, Any]) -> np.ndarray:
        """What makes two states the same for N_ep, a 64-bit key `[N]`."""
        if self._counts == "view":
            return hash_observations(obs)
        try:
            return infos["state_key"]
        except KeyError:
            raise ValueError(
                f"counts='full' needs an environment whose infos have a 'state_key'; "
                f"{self.config.env} has none: use counts='view'"
            ) from None

    def _log_ended_episodes(self, rewards: np.ndarray, done: np.ndarray) -> None:
        """Logs return and length of episodes that end now, whichever fragments they began in."""
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
