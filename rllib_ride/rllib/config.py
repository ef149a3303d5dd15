"""`add_intrinsic_reward`: the one call between an RLlib config and an intrinsic reward."""

from __future__ import annotations

import dataclasses
import difflib
import importlib
import inspect
from collections.abc import Mapping
from typing import Any

import gymnasium as gym
from ray.rllib.algorithms.algorithm_config import AlgorithmConfig
from ray.rllib.algorithms.appo import APPOConfig
from ray.rllib.algorithms.impala import IMPALAConfig
from ray.rllib.core import DEFAULT_MODULE_ID
from ray.rllib.core.rl_module.multi_rl_module import MultiRLModuleSpec
from ray.rllib.core.rl_module.rl_module import RLModuleSpec

from rllib_ride.intrinsic.method import IntrinsicMethod
from rllib_ride.intrinsic.registry import get_method
from rllib_ride.intrinsic.spaces import image_shape, num_actions
from rllib_ride.rllib.connectors import LearnerPipeline
from rllib_ride.rllib.env_runner import BatchedEnvRunner
from rllib_ride.rllib.learner import IntrinsicIMPALALearner
from rllib_ride.rllib.module import IntrinsicModule
from rllib_ride.rllib.policy import RecurrentPolicy
from rllib_ride.rllib.ray_internals import (
    is_tune_env,
    plugs_in_use,
    policy_spec,
    refuse_what_is_skipped,
)
from rllib_ride.rllib.settings import INTRINSIC_MODULE_ID, IntrinsicSettings


def add_intrinsic_reward(
    config: AlgorithmConfig, method: str = "ride", coef: float = 0.1, **settings: Any
) -> AlgorithmConfig:
    """Adds an intrinsic reward to an RLlib config.

    Call it after `environment()`. It sets the Learner, its connectors, the EnvRunner class and the
    RLModules; everything else is yours. If the config names no RLModule, the policy is the paper's
    (`RecurrentPolicy`).

    Args:
        config: An `IMPALAConfig`. Changed in place.
        method: One of `rllib_ride.methods()`; `"none"` trains the same learner without a bonus. A
            method defined with an entropy coefficient sets the config's.
        coef: Weight of the bonus in the reward.
        **settings: More of `IntrinsicSettings`.

    Returns:
        The same config.

    Raises:
        ValueError: If the algorithm, the environment's spaces or a setting are not supported; the
            message says what is.
    """
    if not isinstance(config, IMPALAConfig) or isinstance(config, APPOConfig):
        raise ValueError(
            f"{type(config).__name__} is not supported; an intrinsic reward needs IMPALAConfig"
        )
    _check_config(config)
    method_class = get_method(method)
    spec = _gym_spec(config)
    settings.setdefault("counts", "full" if _reports_state_keys(spec) else "view")
    chosen = _settings(method=method, coef=coef, **settings)
    _check_spaces(config, spec)
    if method_class is not None:
        _check_method_config(method, method_class, chosen.method_config)

    chosen.store_in(config)
    config.env_runners(env_runner_cls=BatchedEnvRunner)
    if spec is not None and spec.vector_entry_point is not None:
        config.env_runners(
            gym_env_vectorize_mode=gym.VectorizeMode.VECTOR_ENTRY_POINT,
        )
    config.learners(
        learner_connector=LearnerPipeline(chosen),
        add_default_connectors_to_learner_pipeline=False,
        learner_class=IntrinsicIMPALALearner,
    )

    policy = policy_spec(config) or RLModuleSpec(module_class=RecurrentPolicy)
    modules = {DEFAULT_MODULE_ID: policy}
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
                "counts": chosen.counts,  # so that a checkpoint can tell
            },
        )
    config.rl_module(rl_module_spec=MultiRLModuleSpec(rl_module_specs=modules))
    return config


def _check_config(config: AlgorithmConfig) -> None:
    """Refuses what the config holds and an intrinsic reward cannot work with."""
    if config.env is None:
        raise ValueError("the config has no environment yet; call config.environment(...) first")
    if config.is_multi_agent:
        raise ValueError("multi-agent configs are not supported; one agent is")
    if config.num_learners > 1:
        raise ValueError(f"num_learners={config.num_learners} is not supported; 0 and 1 are")
    if not IntrinsicSettings.are_in(config) and plugs_in_use(config):
        raise ValueError(
            f"the config has its own {', '.join(plugs_in_use(config))}, which an intrinsic reward "
            "would replace"
        )
    refuse_what_is_skipped(config)


def _check_method_config(
    method: str, method_class: type[IntrinsicMethod], method_config: Mapping[str, Any]
) -> None:
    try:
        inspect.signature(method_class).bind(None, None, **method_config)
    except TypeError as error:
        raise ValueError(f"method_config of {method!r}: {error}") from None


def _settings(**kwargs: Any) -> IntrinsicSettings:
    known = [field.name for field in dataclasses.fields(IntrinsicSettings)]
    for name in kwargs:
        if name not in known:
            raise ValueError(
                f"unknown setting {name!r} of an intrinsic reward, want one of {', '.join(known)}"
            )
    return IntrinsicSettings(**kwargs)


def _gym_spec(config: AlgorithmConfig) -> gym.envs.registration.EnvSpec | None:
    """The environment's entry in Gymnasium's registry; None for a class or a Tune name."""
    if not isinstance(config.env, str) or is_tune_env(config.env):
        return None
    module, _, env_id = config.env.rpartition(":")
    if module:  # Gymnasium's own notation for an id that this module registers.
        importlib.import_module(module)
    if env_id not in gym.registry:
        nearest = difflib.get_close_matches(env_id, gym.registry, n=1)
        hint = f"; did you mean {nearest[0]!r}?" if nearest else ""
        raise ValueError(
            f"environment {env_id!r} is registered with neither Gymnasium nor Tune{hint}"
        )
    return gym.registry[env_id]


def _reports_state_keys(spec: gym.envs.registration.EnvSpec | None) -> bool:
    """Whether the environment's infos have a `state_key` of the whole grid."""
    return spec is not None and spec.id.startswith(("MiniGrid-", "BabyAI-"))


def _check_spaces(config: AlgorithmConfig, spec: gym.envs.registration.EnvSpec | None) -> None:
    """Refuses unsupported spaces now rather than when the first Learner is built."""
    if spec is None:
        return
    env = gym.make_vec(spec.id, num_envs=1, **config.env_config)
    spaces = env.single_observation_space, env.single_action_space
    env.close()
    try:
        image_shape(spaces[0])
        num_actions(spaces[1])
    except ValueError as error:
        raise ValueError(f"environment {spec.id}: {error}") from None
