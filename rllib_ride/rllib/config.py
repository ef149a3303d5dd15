"""`add_intrinsic_reward`: the one call that adds an intrinsic reward to an RLlib config."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import warnings
from collections.abc import Mapping
from typing import Any

import gymnasium as gym
from ray.rllib.algorithms.algorithm_config import AlgorithmConfig
from ray.rllib.algorithms.appo import APPOConfig
from ray.rllib.algorithms.impala import IMPALAConfig
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.core import DEFAULT_MODULE_ID
from ray.rllib.core.rl_module.multi_rl_module import MultiRLModule, MultiRLModuleSpec
from ray.rllib.core.rl_module.rl_module import RLModuleSpec
from ray.rllib.env.multi_agent_env import MultiAgentEnv
from ray.rllib.env.single_agent_env_runner import SingleAgentEnvRunner
from ray.rllib.utils import force_list

from rllib_ride.annotations import misfit
from rllib_ride.envs.registration import reports_state_keys
from rllib_ride.intrinsic.method import IntrinsicMethod
from rllib_ride.intrinsic.registry import get_method
from rllib_ride.rllib.connectors import LearnerPipeline
from rllib_ride.rllib.env_runner import BatchedEnvRunner
from rllib_ride.rllib.learner import (
    IntrinsicAPPOLearner,
    IntrinsicIMPALALearner,
    IntrinsicLearner,
    IntrinsicPPOLearner,
)
from rllib_ride.rllib.module import FROM_BYTES, IntrinsicModule, SharedEmbedding
from rllib_ride.rllib.policy import RecurrentPolicy
from rllib_ride.rllib.ray_internals import (
    custom_connectors,
    is_tune_env,
    make_single_env,
    multi_module_spec,
    plugs_in_use,
    skipped_in_lock_step,
    update_all_learners_or_none,
)
from rllib_ride.rllib.recurring_errors import EndRecurringErrors
from rllib_ride.rllib.sampling import refuse_unsupported_sampling
from rllib_ride.rllib.settings import INTRINSIC_MODULE_ID, IntrinsicSettings
from rllib_ride.rllib.spaces import check_spaces, has_bytes, policy_for
from rllib_ride.rllib.stock_runner import CountingEnvRunner
from rllib_ride.wording import shown, unknown

# APPOConfig subclasses IMPALAConfig, so it must come first.
LEARNERS: dict[type[AlgorithmConfig], type[IntrinsicLearner]] = {
    APPOConfig: IntrinsicAPPOLearner,
    IMPALAConfig: IntrinsicIMPALALearner,
    PPOConfig: IntrinsicPPOLearner,
}
"""The supported algorithms' configs, and the Learner class for each."""


def add_intrinsic_reward(
    config: AlgorithmConfig, method: str = "ride", coef: float = 0.1, **settings: Any
) -> AlgorithmConfig:
    """Adds an intrinsic reward to an RLlib config.

    Call it after `environment()`. It sets the Learner, its connectors, the EnvRunner class and the
    RLModules, and changes nothing else. If the config has neither an RLModule nor a `model_config`,
    the policy is the paper's (`RecurrentPolicy`) for images with Discrete actions, and RLlib's
    default module otherwise.

    A second call replaces method and settings, but keeps the policy and any entropy coefficient or
    vectorize mode that the first call set. For another environment, start from a new config.

    Args:
        config: An `IMPALAConfig`, `APPOConfig` or `PPOConfig`. Changed in place.
        method: One of `rllib_ride.methods()`; `"none"` trains the same Learner without a bonus. A
            method that defines an entropy coefficient overrides the config's. For a method that
            shares the policy's embedding, call `config.learners()` first.
        coef: Weight of the bonus in the reward.
        **settings: Other fields of `IntrinsicSettings`.

    Returns:
        The same config.

    Raises:
        ValueError: If the algorithm, the environment's spaces or a setting is not supported. The
            message says what is supported.
    """
    learner_class = next((LEARNERS[cls] for cls in LEARNERS if isinstance(config, cls)), None)
    if learner_class is None:
        raise ValueError(
            f"{type(config).__name__} is not supported; an intrinsic reward needs "
            f"{', '.join(cls.__name__ for cls in LEARNERS)}"
        )
    _check_config(config)
    method_class = get_method(method)
    spec = _gym_spec(config)
    is_vector = _has_vector_entry_point(config, spec)
    has_keys = spec is not None and reports_state_keys(spec, as_vector=is_vector)
    settings.setdefault("counts", "full" if has_keys else "view")
    chosen = _settings(method=method, coef=coef, **settings)
    observation_space, action_space = _spaces(config, spec if is_vector else None)
    check_spaces(config, observation_space, action_space, chosen)
    is_ppo = isinstance(config, PPOConfig)
    if is_ppo and chosen.sum_over_time:
        raise ValueError("sum_over_time=True is not supported with PPO; IMPALA and APPO have it")
    if method_class is not None:
        _check_method_config(method, method_class, chosen.method_config)

    chosen.store_in(config)
    config.env_runners(env_runner_cls=_runner(config))
    _add_callbacks(config)
    if is_vector:
        config.env_runners(gym_env_vectorize_mode=gym.VectorizeMode.VECTOR_ENTRY_POINT)
    config.learners(
        learner_connector=LearnerPipeline(chosen, for_vtrace=not is_ppo),
        add_default_connectors_to_learner_pipeline=False,
        learner_class=learner_class,
    )

    modules = {DEFAULT_MODULE_ID: policy_for(config, observation_space, action_space)}
    if method_class is not None:
        if method_class.entropy_coeff is not None:
            config.training(entropy_coeff=method_class.entropy_coeff)
        modules[INTRINSIC_MODULE_ID] = RLModuleSpec(
            module_class=IntrinsicModule,
            learner_only=True,
            model_config={
                "method": method,
                "method_class": method_class,
                "method_config": dict(chosen.method_config),
                "counts": chosen.counts,  # so that checkpoints record it
                "observation_key": chosen.observation_key,
                **_what_connectors_meet(config, observation_space),
            },
        )
    shares = method_class is not None and method_class.shares_policy_embedding
    if shares:
        _check_shared(config, method, modules[DEFAULT_MODULE_ID])
    config.rl_module(
        rl_module_spec=MultiRLModuleSpec(
            rl_module_specs=modules,
            multi_rl_module_class=SharedEmbedding if shares else MultiRLModule,
        )
    )
    return config


def _what_connectors_meet(config: AlgorithmConfig, observation_space: gym.Space) -> dict[str, bool]:
    """Extra `model_config` of the intrinsic module: `FROM_BYTES`, if custom connectors get bytes.

    Otherwise empty, because a checkpoint is identified by its `model_config`.
    """
    if not custom_connectors(config) or not has_bytes(observation_space):
        return {}
    return {FROM_BYTES: True}


def _add_callbacks(config: AlgorithmConfig) -> None:
    """Adds to the user's callbacks those that keep processes from waiting forever."""
    on_init = force_list(config.callbacks_on_algorithm_init)
    if update_all_learners_or_none not in on_init:
        config.callbacks(on_algorithm_init=[*on_init, update_all_learners_or_none])
    on_recreated = force_list(config.callbacks_on_env_runners_recreated)
    if not any(isinstance(callback, EndRecurringErrors) for callback in on_recreated):
        config.callbacks(on_env_runners_recreated=[*on_recreated, EndRecurringErrors()])


def _check_shared(config: AlgorithmConfig, method: str, policy: RLModuleSpec) -> None:
    if policy.module_class is None or not issubclass(policy.module_class, RecurrentPolicy):
        raise ValueError(
            f"method {method!r} shares the embedding of the paper's policy: it needs images, "
            "Discrete actions and a RecurrentPolicy"
        )
    if config.num_learners > 1:
        raise ValueError(
            f"num_learners={config.num_learners} is not supported by method {method!r}; 0 and 1 are"
        )


def _check_config(config: AlgorithmConfig) -> None:
    """Refuses configs that an intrinsic reward cannot work with."""
    if config.env is None:
        raise ValueError("the config has no environment yet; call config.environment(...) first")
    if not config.enable_rl_module_and_learner:
        raise ValueError("RLlib's old API stack is not supported; its new one, the default, is")
    is_multi_agent_env = isinstance(config.env, type) and issubclass(config.env, MultiAgentEnv)
    if config.is_multi_agent or is_multi_agent_env:
        raise ValueError("multi-agent configs are not supported; one agent is")
    if not IntrinsicSettings.are_in(config) and plugs_in_use(config):
        raise ValueError(
            f"the config has its own {', '.join(plugs_in_use(config))}, which an intrinsic reward "
            "would replace"
        )
    _check_modules(config)
    refuse_unsupported_sampling(config)


def _check_modules(config: AlgorithmConfig) -> None:
    """Refuses RLModules other than the policy, and a custom `MultiRLModule` class."""
    spec = multi_module_spec(config)
    if spec is None:
        return
    own = {DEFAULT_MODULE_ID}
    if IntrinsicSettings.are_in(config):  # from an earlier call
        own.add(INTRINSIC_MODULE_ID)
    names = set(spec.rl_module_specs)
    cls = spec.multi_rl_module_class
    if DEFAULT_MODULE_ID not in names or names - own or cls not in (MultiRLModule, SharedEmbedding):
        raise ValueError(
            f"the config's MultiRLModuleSpec has the modules {', '.join(sorted(names))} in a "
            f"{cls.__name__}; with an intrinsic reward the policy alone is supported: name its "
            "RLModuleSpec in config.rl_module(rl_module_spec=...)"
        )


def _runner(config: AlgorithmConfig) -> type[SingleAgentEnvRunner]:
    """The batched EnvRunner, or RLlib's own if the config needs it."""
    skipped = skipped_in_lock_step(config)
    if not skipped:
        return BatchedEnvRunner
    warnings.warn(
        f"the config has {', '.join(skipped)}, which the batched EnvRunner does not call: RLlib's "
        "own, step by step, is used instead and samples several times slower",
        stacklevel=3,
    )
    return CountingEnvRunner


def _check_method_config(
    method: str, method_class: type[IntrinsicMethod], method_config: Mapping[str, Any]
) -> None:
    try:
        signature = inspect.signature(method_class, eval_str=True)
    except Exception:  # annotations may name imports that exist for type checkers only
        signature = inspect.signature(method_class)
    try:
        signature.bind(None, None, **method_config)
    except TypeError as error:
        raise ValueError(f"method_config of {method!r}: {error}") from None
    parameters = signature.parameters
    others = next((p for p in parameters.values() if p.kind is p.VAR_KEYWORD), None)
    for name, value in method_config.items():
        parameter = parameters.get(name, others)
        if parameter is None or parameter.annotation is parameter.empty:
            continue
        if right := misfit(value, parameter):
            raise ValueError(
                f"method_config of {method!r}: {name} must be {right}, not {shown(value)}"
            )


def _settings(**kwargs: Any) -> IntrinsicSettings:
    known = [field.name for field in dataclasses.fields(IntrinsicSettings)]
    for name in kwargs:
        if name not in known:
            raise ValueError(unknown("setting", name, known))
    return IntrinsicSettings(**kwargs)


def _gym_spec(config: AlgorithmConfig) -> gym.envs.registration.EnvSpec | None:
    """The environment's spec in Gymnasium's registry; None for a class or a Tune name."""
    if not isinstance(config.env, str) or is_tune_env(config.env):
        return None
    module, _, env_id = config.env.rpartition(":")
    if module:  # Gymnasium's "module:id": importing the module registers the id
        importlib.import_module(module)
    if env_id not in gym.registry:
        listing = "It is registered with neither Gymnasium nor Tune."
        raise ValueError(unknown("environment", env_id, gym.registry, listing))
    return gym.registry[env_id]


def _has_vector_entry_point(
    config: AlgorithmConfig, spec: gym.envs.registration.EnvSpec | None
) -> bool:
    """Whether to build the vector environment through the spec's `vector_entry_point`.

    False if the user chose another vectorize mode, or if the spec has wrappers: Gymnasium's
    `additional_wrappers` wrap single environments.
    """
    if spec is None or spec.vector_entry_point is None or spec.additional_wrappers:
        return False
    default = AlgorithmConfig().gym_env_vectorize_mode
    return config.gym_env_vectorize_mode in (
        default,
        gym.VectorizeMode.VECTOR_ENTRY_POINT,
        gym.VectorizeMode.VECTOR_ENTRY_POINT.value,
    )


def _spaces(
    config: AlgorithmConfig, vector: gym.envs.registration.EnvSpec | None
) -> tuple[gym.Space, gym.Space]:
    """Observation and action space of one environment; builds one if the config has no spaces.

    Args:
        config: Names the environment.
        vector: The environment's spec if it is built through its vector entry point, else None.
    """
    if config.observation_space is not None and config.action_space is not None:
        return config.observation_space, config.action_space
    if vector is not None:
        vector_env = gym.make_vec(vector.id, num_envs=1, **config.env_config)
        vector_env.close()
        return vector_env.single_observation_space, vector_env.single_action_space
    env = make_single_env(config)
    env.close()
    if isinstance(env, MultiAgentEnv):
        raise ValueError("multi-agent environments are not supported; one agent is")
    return env.observation_space, env.action_space
