"""An EnvRunner that steps all environments in lock-step and records whole arrays.

RLlib's own adds every step of every environment to an episode object, in Python. This one records
T x N arrays and cuts them into episodes at the end of a fragment.
"""

from __future__ import annotations

import math
import time
from typing import Any

import gymnasium as gym
import numpy as np
import torch
from gymnasium.vector import AutoresetMode
from ray.rllib.algorithms.algorithm_config import AlgorithmConfig
from ray.rllib.callbacks.callbacks import RLlibCallback
from ray.rllib.core.columns import Columns
from ray.rllib.env.single_agent_env_runner import SingleAgentEnvRunner
from ray.rllib.env.single_agent_episode import SingleAgentEpisode
from ray.rllib.utils.torch_utils import convert_to_torch_tensor

from rllib_ride.intrinsic.counts import EpisodicCounter, hash_observations
from rllib_ride.rllib.episodes import Rollout, cut_rollout
from rllib_ride.rllib.settings import IntrinsicSettings

EPISODE_RETURN_SQUARED_MEAN = "episode_return_squared_mean"
"""Metric beside RLlib's `episode_return_mean`: their standard deviation merges over runners."""

_STEP_CALLBACKS = ("on_episode_created", "on_episode_start", "on_episode_step", "on_episode_end")


class BatchedEnvRunner(SingleAgentEnvRunner):
    """Drop-in `env_runner_cls` for Gymnasium vector environments and any TorchRLModule.

    Keeps N_ep, the visits of each state in the running episode, for the intrinsic reward. Episodes,
    recurrent states and counts go on over fragments. A fragment is `rollout_fragment_length` steps
    of each environment; the step on which an ended environment resets itself is no transition.

    Callbacks per episode or step and custom env-to-module or module-to-env connectors need RLlib's
    own runner, and are refused.
    """

    def __init__(self, *, config: AlgorithmConfig, **kwargs: Any) -> None:
        _refuse_what_is_skipped(config)
        super().__init__(config=config, **kwargs)
        self._settings = IntrinsicSettings.of(self.config)

    def make_env(self) -> None:
        """Builds the vector environment as RLlib does, with a seed of its own for each runner."""
        super().make_env()
        assert self.env is not None
        # RLlib's outermost wrapper turns the infos of N environments into N dicts at each step.
        self._vector_env: gym.vector.VectorEnv = self.env.env
        mode = self._vector_env.metadata.get("autoreset_mode", AutoresetMode.NEXT_STEP)
        if mode != AutoresetMode.NEXT_STEP:
            raise ValueError(
                f"vector environment {self.config.env} has autoreset_mode {mode}; "
                f"want {AutoresetMode.NEXT_STEP}"
            )

    def _sample(
        self,
        *,
        num_timesteps: int | None = None,
        num_episodes: int | None = None,
        explore: bool,
        random_actions: bool = False,
        force_reset: bool = False,
    ) -> list[SingleAgentEpisode]:
        if num_timesteps is None or random_actions:
            # Whole episodes, as evaluation wants them: RLlib's own way, one step at a time.
            self._needs_initial_reset = True
            return super()._sample(
                num_timesteps=num_timesteps,
                num_episodes=num_episodes,
                explore=explore,
                random_actions=random_actions,
                force_reset=force_reset,
            )
        if force_reset or self._needs_initial_reset:
            self._start_episodes()
        rollout = self._record(math.ceil(num_timesteps / self.num_envs), explore)
        self._increase_sampled_metrics(
            rollout.num_transitions, int((rollout.terminated | rollout.truncated).sum())
        )
        self._log_env_steps(
            metric=self._metrics_num_env_steps_sampled, num_steps=rollout.num_transitions
        )
        return cut_rollout(rollout, self._episode_ids, self._piece_started)

    def _start_episodes(self) -> None:
        """Resets all environments. Only the first time with a seed, as Gymnasium would have it."""
        seeds = None
        if self._seed is not None and self._needs_initial_reset:
            # RLlib's seeds of two runners differ by 1, and so do those of two environments in a
            # runner: runner 1's second environment would be runner 2's first.
            sequence = np.random.SeedSequence(
                [self.config.seed, self.worker_index or 0, int(self.config.in_evaluation)]
            )
            seeds = [int(seed) for seed in sequence.generate_state(self.num_envs)]
        self._obs, infos = self._vector_env.reset(seed=seeds)
        self._needs_initial_reset = False

        self._resetting = np.zeros(self.num_envs, bool)
        self._counter = EpisodicCounter(self.num_envs)
        self._counter.visit(self._state_keys(self._obs, infos), np.ones(self.num_envs, bool))
        self._state = self._initial_state()
        self._episode_ids = [SingleAgentEpisode().id_ for _ in range(self.num_envs)]
        self._piece_started = np.zeros(self.num_envs, int)
        self._return = np.zeros(self.num_envs)
        self._length = np.zeros(self.num_envs, int)
        self._episode_began = np.full(self.num_envs, time.perf_counter())

    def _record(self, num_steps: int, explore: bool) -> Rollout:
        """Steps all environments `num_steps` times."""
        num_envs, action_space = self.num_envs, self._vector_env.single_action_space
        shape = (num_steps, num_envs)
        rollout = Rollout(
            observations=np.empty((num_steps + 1, *self._obs.shape), self._obs.dtype),
            actions=np.empty((*shape, *action_space.shape), action_space.dtype),
            logp=np.empty(shape, np.float32),
            rewards=np.empty(shape, np.float32),
            terminated=np.empty(shape, bool),
            truncated=np.empty(shape, bool),
            counts=np.empty(shape, np.float32),
            is_reset=np.empty(shape, bool),
            state_in=None
            if self._state is None
            else {key: value.numpy(force=True).copy() for key, value in self._state.items()},
        )
        rollout.observations[0] = self._obs
        for t in range(num_steps):
            actions, logp = self._act(explore)
            obs, rewards, terminated, truncated, infos = self._vector_env.step(actions)

            rollout.actions[t], rollout.logp[t] = actions, logp
            rollout.is_reset[t] = self._resetting
            rollout.rewards[t] = rewards
            rollout.terminated[t], rollout.truncated[t] = terminated, truncated
            rollout.observations[t + 1] = obs
            rollout.counts[t] = self._count(obs, infos)

            self._log_ended_episodes(rewards, terminated | truncated)
            self._reset_state(self._resetting)
            self._obs, self._resetting = rollout.observations[t + 1], terminated | truncated
        return rollout

    def _act(self, explore: bool) -> tuple[np.ndarray, np.ndarray]:
        """Actions `[N, ...]` and their log-probabilities `[N]`; advances the recurrent state."""
        obs = convert_to_torch_tensor(self._obs, device=self._device)
        batch: dict[str, Any] = {Columns.OBS: obs}
        if self._state is not None:
            batch = {Columns.OBS: obs.unsqueeze(1), Columns.STATE_IN: self._state}  # [N, 1, ...]
        if explore:
            out = self.module.forward_exploration(batch, t=self.num_env_steps_sampled_lifetime)
            dist_class = self.module.get_exploration_action_dist_cls()
        else:
            out = self.module.forward_inference(batch)
            dist_class = self.module.get_inference_action_dist_cls()
        inputs = out[Columns.ACTION_DIST_INPUTS]
        if self._state is not None:
            inputs, self._state = inputs.squeeze(1), out[Columns.STATE_OUT]
        dist = dist_class.from_logits(inputs)
        actions = (dist if explore else dist.to_deterministic()).sample()
        return actions.numpy(force=True), dist.logp(actions).numpy(force=True)

    def _count(self, obs: np.ndarray, infos: dict[str, Any]) -> np.ndarray:
        """N_ep of each environment's new state, `[N]`, this visit included."""
        self._counter.reset(self._resetting)
        return self._counter.visit(self._state_keys(obs, infos), np.ones(self.num_envs, bool))

    def _state_keys(self, obs: np.ndarray, infos: dict[str, Any]) -> np.ndarray:
        """What makes two states the same for N_ep, a 64-bit key `[N]`."""
        if self._settings.counts == "view":
            return hash_observations(obs)
        try:
            return infos["state_key"]
        except KeyError:
            raise ValueError(
                f"counts='full' needs an environment whose infos have a 'state_key'; "
                f"{self.config.env} has none: use counts='view'"
            ) from None

    def _initial_state(self) -> dict[str, torch.Tensor] | None:
        """The module's state at an episode's start, `[N, ...]`; None if it is not recurrent."""
        if not self.module.is_stateful():
            return None
        return {
            key: value.expand(self.num_envs, *value.shape).clone().to(self._device)
            for key, value in self.module.get_initial_state().items()
        }

    def _reset_state(self, env_mask: np.ndarray) -> None:
        """Gives environments that begin an episode the initial state."""
        if self._state is not None and env_mask.any():
            begins = torch.from_numpy(env_mask).to(self._device)
            for key, value in self.module.get_initial_state().items():
                self._state[key][begins] = value.to(self._device)

    def _log_ended_episodes(self, rewards: np.ndarray, done: np.ndarray) -> None:
        """Logs return and length of episodes that end now, whichever fragments they began in."""
        self._return += rewards
        self._length += ~self._resetting
        if not done.any():
            return
        now = time.perf_counter()
        window = math.ceil(
            self.config.metrics_num_episodes_for_smoothing / (self.config.num_env_runners or 1)
        )
        for n in np.flatnonzero(done):
            self._log_episode_metrics(
                int(self._length[n]), float(self._return[n]), now - self._episode_began[n]
            )
            self.metrics.log_value(
                EPISODE_RETURN_SQUARED_MEAN, float(self._return[n]) ** 2, window=window
            )
        self._return[done], self._length[done], self._episode_began[done] = 0.0, 0, now


def _refuse_what_is_skipped(config: AlgorithmConfig) -> None:
    """Names what this runner would pass over in silence."""
    skipped = [
        name
        for name in _STEP_CALLBACKS
        if getattr(config, f"callbacks_{name}")
        or any(
            getattr(cls, name) is not getattr(RLlibCallback, name)
            for cls in np.atleast_1d(config.callbacks_class)
        )
    ]
    skipped += [
        name
        for name, connector in (
            ("env_to_module_connector", config._env_to_module_connector),
            ("module_to_env_connector", config._module_to_env_connector),
        )
        if connector is not None
    ]
    if skipped:
        raise ValueError(
            f"BatchedEnvRunner does not call {', '.join(skipped)}; it offers on_sample_end and "
            "on_environment_created"
        )
