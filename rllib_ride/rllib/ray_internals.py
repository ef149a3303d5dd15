"""All uses of RLlib's private or unstable API, written for Ray 2.60.

A new Ray release can break only this file and two private methods that other files override:
`_update` (`finite_updates.py`, `learner.py`) and `_update_module_kl_coeff` (`learner.py`).
`experiments/tune_internals.py` is the same for Tune, except for `_trial_info` in
`experiments/asha.py`.
"""

from __future__ import annotations

import abc
import contextlib
import math
import pickle
import queue
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gymnasium as gym
import numpy as np
import ray
from gymnasium.vector import AutoresetMode
from ray.rllib.algorithms.algorithm_config import AlgorithmConfig
from ray.rllib.algorithms.impala.torch.impala_torch_learner import IMPALATorchLearner
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.callbacks.callbacks import RLlibCallback
from ray.rllib.connectors.connector_v2 import ConnectorV2
from ray.rllib.core import COMPONENT_RL_MODULE, DEFAULT_MODULE_ID
from ray.rllib.core.columns import Columns
from ray.rllib.core.learner.learner import Learner
from ray.rllib.core.learner.torch.torch_learner import TorchLearner
from ray.rllib.core.rl_module.multi_rl_module import MultiRLModuleSpec
from ray.rllib.core.rl_module.rl_module import RLModuleSpec
from ray.rllib.env.env_context import EnvContext
from ray.rllib.env.single_agent_episode import SingleAgentEpisode
from ray.rllib.policy.sample_batch import SampleBatch
from ray.rllib.utils.metrics import ENV_RUNNER_RESULTS, NUM_ENV_STEPS_SAMPLED_LIFETIME
from ray.rllib.utils.metrics import (
    NUM_TRAINING_STEP_CALLS_SINCE_LAST_SYNCH_WORKER_WEIGHTS as _CALLS_SINCE_SYNC,
)
from ray.rllib.utils.metrics.metrics_logger import MetricsLogger
from ray.tune.registry import ENV_CREATOR, _global_registry

from rllib_ride.rllib.acting import reset_each
from rllib_ride.rllib.nonfinite import NonFiniteError
from rllib_ride.rllib.recurring_errors import TellingErrors
from rllib_ride.rllib.sampling import refuse_unsupported_sampling
from rllib_ride.rllib.watched_env import EnvironmentFault, WatchedEnv

if TYPE_CHECKING:
    from ray.rllib.algorithms.algorithm import Algorithm

EPISODE_RETURN_SQUARED_MEAN = "episode_return_squared_mean"
"""Metric: with RLlib's `episode_return_mean` it gives the standard deviation over all runners."""

_STATE_AFTER_UPDATE = "_rl_module_state_after_update"
_STEP_CALLBACKS = ("on_episode_created", "on_episode_start", "on_episode_step", "on_episode_end")


class BaseEnvRunner(TellingErrors):
    """RLlib's EnvRunner, extended by what both of this package's runners share."""

    _num_starts = 0

    @property
    def vector_env(self) -> gym.vector.VectorEnv:
        """The environments without RLlib's wrapper, which makes N info dicts at each step."""
        assert self.env is not None
        return self.env.env

    def make_env(self) -> None:
        """Builds the vector environment as RLlib does; requires autoreset mode NEXT_STEP."""
        super().make_env()
        mode = self.vector_env.metadata.get("autoreset_mode", AutoresetMode.NEXT_STEP)
        if mode != AutoresetMode.NEXT_STEP:
            raise ValueError(
                f"vector environment {self.config.env} has autoreset_mode {mode}; "
                f"expected {AutoresetMode.NEXT_STEP}"
            )
        # Inserted inside RLlib's wrapper: dropping that wrapper would close the environment.
        self.env.env = WatchedEnv(self.vector_env, self._env_name())

    def _env_name(self) -> str:
        """The environment's name in error messages."""
        name = self.config.env if isinstance(self.config.env, str) else self.config.env.__name__
        return f"{name} in EnvRunner {self.worker_index}" if self.worker_index else name

    def _seeds(self) -> list[int] | None:
        """Unique seeds for the environments of this runner, new ones at each start.

        RLlib's seeds differ by 1 between runners and by 1 between environments of a runner, so the
        second environment of runner 1 would equal the first of runner 2. The frames sampled so far
        enter the seeds; otherwise a run that is often interrupted would repeat its first levels.
        """
        if self.config.seed is None:
            return None
        runner = [self.config.seed, self.worker_index or 0, int(self.config.in_evaluation)]
        frames = int(self.num_env_steps_sampled_lifetime)
        sequence = np.random.SeedSequence([*runner, frames, self._num_starts])
        self._num_starts += 1
        return [int(seed) for seed in sequence.generate_state(self.num_envs)]

    def _try_env_reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        """As RLlib's, but seeds by `_seeds`; evaluation keeps RLlib's, and so its levels."""
        if seed is None or self.config.in_evaluation:
            return super()._try_env_reset(seed=seed, options=options)
        return reset_each(self.env, self._seeds())

    def _try_env_step(self, actions: Any) -> Any:
        """As RLlib's, but raises an `EnvironmentFault` itself: RLlib's own error has no message."""
        try:
            return super()._try_env_step(actions)
        except RuntimeError as error:
            if isinstance(error.__cause__, EnvironmentFault):
                raise error.__cause__ from None
            raise

    def _log_episode_metrics(self, length: int, ret: float, sec: float) -> None:
        super()._log_episode_metrics(length, ret, sec)
        episodes = self.config.metrics_num_episodes_for_smoothing
        self.metrics.log_value(
            EPISODE_RETURN_SQUARED_MEAN,
            ret**2,
            window=math.ceil(episodes / (self.config.num_env_runners or 1)),  # as in RLlib
        )


class LockStepEnvRunner(BaseEnvRunner, abc.ABC):
    """RLlib's EnvRunner with public names for its private parts; subclasses write the step loop.

    Weights, metrics, checkpoints and fault tolerance are RLlib's.
    """

    def __init__(self, *, config: AlgorithmConfig, **kwargs: Any) -> None:
        refuse_unsupported_sampling(config)
        if skipped := skipped_in_lock_step(config):
            raise ValueError(
                f"{type(self).__name__} does not call {', '.join(skipped)}; set them before "
                "add_intrinsic_reward, which then chooses RLlib's own runner"
            )
        super().__init__(config=config, **kwargs)

    @abc.abstractmethod
    def start_episodes(self, seeds: list[int] | None) -> None:
        """Resets all environments, with one seed for each if the run is seeded."""

    @abc.abstractmethod
    def sample_fragment(self, num_steps: int, explore: bool) -> list[SingleAgentEpisode]:
        """Steps each environment `num_steps` times."""

    @property
    def device(self) -> Any:
        """Device of the module."""
        return self._device

    @property
    def has_episodes(self) -> bool:
        """Whether the next fragment continues the running episodes or resets all environments."""
        return not self._needs_initial_reset

    @has_episodes.setter
    def has_episodes(self, value: bool) -> None:
        self._needs_initial_reset = not value

    def log_fragment(self, transitions: int, episodes: int) -> None:
        """Logs the numbers of sampled transitions and ended episodes."""
        self._increase_sampled_metrics(transitions, episodes)
        self._log_env_steps(metric=self._metrics_num_env_steps_sampled, num_steps=transitions)

    def log_episode(self, length: int, return_: float, seconds: float) -> None:
        """Logs an ended episode, which may span several fragments."""
        self._log_episode_metrics(length, return_, seconds)

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
            # Whole episodes, as evaluation asks for: RLlib's own loop, one step at a time.
            self.has_episodes = False
            episodes = super()._sample(
                num_timesteps=num_timesteps,
                num_episodes=num_episodes,
                explore=explore,
                random_actions=random_actions,
                force_reset=force_reset,
            )
            self.has_episodes = False  # the two loops do not share episodes
            return episodes
        if force_reset or not self.has_episodes:
            self.start_episodes(self._seeds())
        self.has_episodes = False  # until the fragment is complete: a part of one is lost
        episodes = self.sample_fragment(math.ceil(num_timesteps / self.num_envs), explore)
        if isinstance(self.config, PPOConfig):
            # Resets are not transitions. If a single one is missing, PPO would sample another round
            # from all runners. (V-trace takes whole fragments, so its rows need no filling.)
            while (missing := num_timesteps - sum(map(len, episodes))) > 0:
                episodes += self.sample_fragment(math.ceil(missing / self.num_envs), explore)
        self.has_episodes = True
        return episodes


class LearnerInternals(TorchLearner):
    """RLlib's Learner with public names for private parts; allows modules with nothing to train."""

    @property
    def num_updates(self) -> int:
        """Batches processed so far, including those before a checkpoint."""
        return int(self._weights_seq_no)

    def append_to_pipeline(self, piece: ConnectorV2) -> None:
        """Appends a piece to the Learner's connector pipeline."""
        self._learner_connector.append(piece)

    def _make_modules_ddp_if_necessary(self) -> None:
        """As RLlib's, but skips modules with nothing to train, which PyTorch's DDP refuses."""
        idle = {
            module_id: self.module[module_id]
            for module_id in self.module.keys()  # noqa: SIM118  (no dict)
            if not any(p.requires_grad for p in self.module[module_id].parameters())
        }
        for module_id in idle:
            self.module.remove_module(module_id)
        super()._make_modules_ddp_if_necessary()
        for module_id, module in idle.items():
            self.module.add_module(module_id, module)


class FailingLoudly(IMPALATorchLearner):
    """IMPALA's Learner, but `update` raises errors of the learner thread.

    In RLlib such an error kills the thread, and a later update waits for it forever. Also splits
    batches by `minibatches`.
    """

    def build(self) -> None:
        """Builds as usual, then guards the function that the learner thread calls."""
        self._failure: BaseException | None = None
        super().build()
        self._learner_thread._update_method = self._guarded_update

    def before_learning(self, batch: dict[str, Any]) -> None:
        """Hook: the learner thread calls it with each new batch, `{module ID: columns}`."""

    def update(self, *args: Any, **kwargs: Any) -> Any:
        """As RLlib's, but deterministic with a local Learner, and raises the thread's errors.

        With a local Learner, returns the policy's weights after the previous update, for the
        EnvRunner. RLlib reads them while the learner thread may be replacing them: which version it
        gets would depend on thread timing, and two runs with the same seed would differ.

        Raises:
            NonFiniteError: If the learner thread has raised it.
            RuntimeError: If the learner thread has raised any other error; that is its cause.
        """
        before = None
        if self.config.num_learners == 0 and kwargs.pop("return_state", False):
            with contextlib.suppress(queue.Empty):
                self._learner_state = self._learner_state_queue.get_nowait()
            before = self._learner_state
        results = super().update(*args, **kwargs)
        if before is not None:
            results[_STATE_AFTER_UPDATE] = before
        if isinstance(self._failure, NonFiniteError):
            raise self._failure
        if self._failure is not None:
            raise RuntimeError(f"an update failed: {self._failure}") from self._failure
        return results

    @staticmethod
    def _guarded_update(
        self: FailingLoudly,
        *,
        training_data: Any,
        num_epochs: int = 1,
        minibatch_size: int | None = None,
        **kwargs: Any,
    ) -> None:
        if self._failure is not None:  # drop batches still queued: the first failure is reported
            return
        try:
            batches = training_data.batch.policy_batches
            self.before_learning(batches)
            if minibatch_size is not None or num_epochs > 1:
                size = self.config.train_batch_size_per_learner
                an_epoch = math.ceil(size / minibatch_size) if minibatch_size else 1
                kwargs |= minibatches(batches[DEFAULT_MODULE_ID], num_epochs, an_epoch)
            Learner.update(self, training_data=training_data, num_epochs=num_epochs, **kwargs)
        except Exception as error:
            self._failure = error


def minibatches(rows: SampleBatch, num_epochs: int, an_epoch: int) -> dict[str, Any]:
    """Arguments of `Learner.update` that split a batch into minibatches of equally many whole rows.

    RLlib derives the rows of a minibatch from the transitions of the batch, and makes minibatches
    until each row was in `num_epochs` of them. How many these are then depends on where episodes
    happened to end, and a Learner that makes one more than the others waits for them forever.

    Args:
        rows: A batch in rows, with `seq_lens` `[B]`.
        num_epochs: Passes over the batch.
        an_epoch: Minibatches of a pass.
    """
    num_rows = len(rows[Columns.SEQ_LENS])
    wanted = math.ceil(num_rows / an_epoch)
    # RLlib takes int(num_rows * minibatch_size / len(rows)) rows; the half is for rounding.
    return {
        "minibatch_size": (wanted + 0.5) * len(rows) / num_rows,
        "num_total_minibatches": num_epochs * an_epoch,
    }


def update_all_learners_or_none(*, algorithm: Algorithm, **kwargs: Any) -> None:
    """`on_algorithm_init` callback: sends each update to all remote Learners or to none.

    RLlib sends an update only to Learners with fewer than `max_requests_in_flight_per_learner`
    requests waiting. A Learner with one update more than the others waits for them to average
    gradients. It waits forever if RLlib then waits for it, as when saving a checkpoint. So an
    update is dropped, and counted as dropped, if any Learner has no room for it.
    """
    group = algorithm.learner_group
    if group.is_local:
        return
    manager = group._worker_manager
    send, most = manager.foreach_actor_async, manager._max_remote_requests_in_flight_per_actor

    def send_to_all_or_none(func: Any, tag: str | None = None, **kwargs: Any) -> int:
        learners = manager._remote_actor_states.values()
        if any(learner.get_num_in_flight_requests(tag) >= most for learner in learners):
            return 0
        return send(func, tag, **kwargs)

    manager.foreach_actor_async = send_to_all_or_none


def skipped_in_lock_step(config: AlgorithmConfig) -> list[str]:
    """Names of the callbacks and connectors in a config that a lock-step runner never calls."""
    callbacks = [
        name
        for name in _STEP_CALLBACKS
        if getattr(config, f"callbacks_{name}")
        or any(
            getattr(cls, name) is not getattr(RLlibCallback, name)
            for cls in np.atleast_1d(config.callbacks_class)
        )
    ]
    return callbacks + custom_connectors(config)


def custom_connectors(config: AlgorithmConfig) -> list[str]:
    """Names of the user's connectors between environment and module."""
    names = ("env_to_module_connector", "module_to_env_connector")
    return [name for name in names if getattr(config, f"_{name}") is not None]


def tell_if_padded(shared_data: dict[str, Any] | None, is_padded: Mapping[str, bool]) -> None:
    """Tells the Learner for which modules the batch has zero-padded rows.

    RLlib shuffles and splits such batches by whole rows.

    Args:
        shared_data: Data shared by a Learner's connectors; None: does nothing.
        is_padded: Whether rows are padded, by module ID.
    """
    if shared_data is not None:
        for module_id, padded in is_padded.items():
            shared_data[f"_zero_padded_for_mid={module_id}"] = padded


def plugs_in_use(config: AlgorithmConfig) -> list[str]:
    """Names of the settings for which a config already has a custom class or connector."""
    names = {
        "env_runner_cls": config.env_runner_cls,
        "learner_class": config._learner_class,
        "learner_connector": config._learner_connector,
    }
    return [name for name, value in names.items() if value is not None]


def policy_spec(config: AlgorithmConfig) -> RLModuleSpec | None:
    """The policy's RLModuleSpec if the config has one; a `model_config` alone is not a spec."""
    spec = multi_module_spec(config)
    return spec.rl_module_specs[DEFAULT_MODULE_ID] if spec else config._rl_module_spec


def multi_module_spec(config: AlgorithmConfig) -> MultiRLModuleSpec | None:
    """The config's MultiRLModuleSpec, if it has one."""
    spec = config._rl_module_spec
    return spec if isinstance(spec, MultiRLModuleSpec) else None


def has_model_config(config: AlgorithmConfig) -> bool:
    """Whether the user has set a `model_config`, which describes RLlib's default network."""
    return bool(config._model_config)


def make_single_env(config: AlgorithmConfig) -> Any:
    """Makes one environment from the config's class, Tune name or Gymnasium id."""
    context = EnvContext(config.env_config, worker_index=0)
    if isinstance(config.env, str):
        if is_tune_env(config.env):
            return _global_registry.get(ENV_CREATOR, config.env)(context)
        return gym.make(config.env, **config.env_config)
    return config.env(context)


def is_tune_env(name: str) -> bool:
    """Whether the name is registered with `ray.tune.register_env`."""
    return _global_registry.contains(ENV_CREATOR, name)


def weights_on_their_way(algorithm: Algorithm) -> dict[str, Any]:
    """The weights of a local EnvRunner, and the state of the pending weight synchronization.

    IMPALA hands over the weights of an update after the next one. Until then they are in a local
    Learner's queue. Those equal the Learner's current weights, so only whether they are queued is
    saved.
    """
    runner, learner = algorithm.env_runner, algorithm.learner_group._learner
    weights = {"acting": runner.module.get_state(), "seq_no": runner._weights_seq_no}
    if isinstance(learner, FailingLoudly):
        weights["is_queued"] = not learner._learner_state_queue.empty()
        weights["calls_since_sync"] = algorithm._counters[_CALLS_SINCE_SYNC]
    return weights


def set_weights_on_their_way(algorithm: Algorithm, weights: dict[str, Any]) -> None:
    """Restores what `weights_on_their_way` returned; restore the Learner's weights first."""
    runner, learner = algorithm.env_runner, algorithm.learner_group._learner
    runner.module.set_state(weights["acting"])
    runner._weights_seq_no = weights["seq_no"]
    if not isinstance(learner, FailingLoudly):
        return
    algorithm._counters[_CALLS_SINCE_SYNC] = weights["calls_since_sync"]
    if weights["is_queued"]:
        state = learner.get_state(COMPONENT_RL_MODULE, inference_only=True)
        state[COMPONENT_RL_MODULE] = ray.put(state[COMPONENT_RL_MODULE])
        learner._learner_state_queue.put_nowait(state)


def module_folder(checkpoint: Path, module_id: str = DEFAULT_MODULE_ID) -> Path:
    """Folder of an RLModule in an Algorithm's checkpoint, for `RLModule.from_checkpoint`."""
    return checkpoint / "learner_group" / "learner" / "rl_module" / module_id


def checkpoint_config(checkpoint: Path) -> dict[str, Any]:
    """The config of a checkpoint's Algorithm, as a dict."""
    made_with = _unpickle(checkpoint / "class_and_ctor_args.pkl")
    (config, *_), _ = made_with["ctor_args_and_kwargs"]
    return config


def checkpoint_frames(checkpoint: Path) -> int:
    """Number of transitions that a checkpoint's Algorithm had sampled."""
    metrics = MetricsLogger(root=True)
    metrics.set_state(_unpickle(checkpoint / "algorithm_state.pkl")["metrics_logger"])
    return int(metrics.peek((ENV_RUNNER_RESULTS, NUM_ENV_STEPS_SAMPLED_LIFETIME), default=0))


def _unpickle(path: Path) -> Any:
    with path.open("rb") as file:
        return pickle.load(file)
