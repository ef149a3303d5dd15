"""What `add_intrinsic_reward` builds, and what it refuses."""

from __future__ import annotations

import warnings
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from ray.rllib.algorithms.dqn import DQNConfig
from ray.rllib.algorithms.impala import IMPALAConfig
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.algorithms.sac import SACConfig
from ray.rllib.callbacks.callbacks import RLlibCallback
from ray.rllib.connectors.env_to_module import FlattenObservations
from ray.rllib.core import DEFAULT_MODULE_ID
from ray.rllib.core.rl_module.multi_rl_module import MultiRLModule, MultiRLModuleSpec
from ray.rllib.core.rl_module.rl_module import RLModuleSpec

import rllib_ride
from helpers import envs
from rllib_ride.rllib.env_runner import BatchedEnvRunner
from rllib_ride.rllib.policy import RecurrentPolicy
from rllib_ride.rllib.ray_internals import update_all_learners_or_none
from rllib_ride.rllib.recurring_errors import EndRecurringErrors
from rllib_ride.rllib.settings import INTRINSIC_MODULE_ID, IntrinsicSettings
from rllib_ride.rllib.stock_runner import CountingEnvRunner

N7S4 = "MiniGrid-MultiRoom-N7-S4-v0"

WRAPPED = "rllib_ride_test/WrappedCartPole-v0"
FRAMES, ACTIONS = gym.spaces.Box(0, 255, (42, 42, 4), np.uint8), gym.spaces.Discrete(7)


def impala(env: str = N7S4) -> IMPALAConfig:
    return IMPALAConfig().environment(env)


def test_minigrid_counts_the_whole_grid_unless_told_otherwise() -> None:
    for env, settings, expected in (
        (N7S4, {}, "full"),
        (N7S4, {"counts": "view"}, "view"),
        (envs.ENV_ID, {}, "view"),
    ):
        config = rllib_ride.add_intrinsic_reward(impala(env), **settings)
        assert IntrinsicSettings.of(config).counts == expected


def test_only_this_projects_environments_are_taken_to_have_a_state_key() -> None:
    env = "MiniGrid-OfTheUser-v0"
    gym.register(env, entry_point="minigrid.envs:EmptyEnv")
    try:
        config = rllib_ride.add_intrinsic_reward(impala(env))
    finally:
        del gym.registry[env]
    assert IntrinsicSettings.of(config).counts == "view"
    game = rllib_ride.add_intrinsic_reward(
        impala("VizDoomMyWayHome-Sparse-v0").environment(
            observation_space=FRAMES, action_space=ACTIONS
        )
    )
    assert IntrinsicSettings.of(game).counts == "full"


def test_the_vector_entry_point_is_used_unless_the_user_or_a_wrapper_says_otherwise() -> None:
    sync, vector = gym.VectorizeMode.SYNC, gym.VectorizeMode.VECTOR_ENTRY_POINT
    cart_pole = "gymnasium.envs.classic_control.cartpole:CartPole"
    gym.register(
        WRAPPED,
        entry_point=f"{cart_pole}Env",
        vector_entry_point=f"{cart_pole}VectorEnv",
        additional_wrappers=(gym.wrappers.NormalizeReward.wrapper_spec(),),
    )
    try:
        for env, chosen, mode, counts in (
            (N7S4, None, vector, "full"),
            (N7S4, sync, sync, "view"),  # the package's environments have no state_key
            ("CartPole-v1", None, vector, "view"),
            ("CartPole-v1", sync, sync, "view"),
            (WRAPPED, None, "sync", "view"),
        ):
            config = impala(env)
            if chosen is not None:
                config.env_runners(gym_env_vectorize_mode=chosen)
            for _ in range(2):
                config = rllib_ride.add_intrinsic_reward(config)
            assert config.gym_env_vectorize_mode == mode
            assert IntrinsicSettings.of(config).counts == counts
    finally:
        del gym.registry[WRAPPED]


def test_method_none_has_no_intrinsic_module() -> None:
    for method, modules in (
        ("ride", {DEFAULT_MODULE_ID, INTRINSIC_MODULE_ID}),
        ("none", {DEFAULT_MODULE_ID}),
    ):
        config = rllib_ride.add_intrinsic_reward(impala(), method=method)
        assert set(config.rl_module_spec.rl_module_specs) == modules


class OwnPolicy(RecurrentPolicy):
    pass


class OwnModules(MultiRLModule):
    pass


def test_the_users_own_module_stays() -> None:
    config = impala().rl_module(rl_module_spec=RLModuleSpec(module_class=OwnPolicy))
    config = rllib_ride.add_intrinsic_reward(config)
    assert config.rl_module_spec.rl_module_specs[DEFAULT_MODULE_ID].module_class is OwnPolicy
    default = rllib_ride.add_intrinsic_reward(impala())
    spec = default.rl_module_spec.rl_module_specs[DEFAULT_MODULE_ID]
    assert spec.module_class is RecurrentPolicy


def test_a_module_set_afterwards_is_refused_with_what_to_do() -> None:
    config = rllib_ride.add_intrinsic_reward(impala())
    config.rl_module(rl_module_spec=RLModuleSpec(module_class=OwnPolicy))
    with pytest.raises(ValueError, match=r"call config.rl_module\(...\) before add_intrinsic"):
        config.build_learner(env=gym.make_vec(N7S4))


@pytest.mark.parametrize(
    ("names", "cls"),
    [
        ([DEFAULT_MODULE_ID, "world_model"], MultiRLModule),
        ([DEFAULT_MODULE_ID, INTRINSIC_MODULE_ID], MultiRLModule),
        (["p0"], MultiRLModule),
        ([DEFAULT_MODULE_ID], OwnModules),
    ],
)
def test_modules_beside_the_policy_are_refused(names: list[str], cls: type[MultiRLModule]) -> None:
    specs = {name: RLModuleSpec(module_class=OwnPolicy) for name in names}
    config = impala().rl_module(
        rl_module_spec=MultiRLModuleSpec(rl_module_specs=specs, multi_rl_module_class=cls)
    )
    message = f"has the modules {', '.join(sorted(names))} in a {cls.__name__}; .* policy alone"
    with pytest.raises(ValueError, match=message):
        rllib_ride.add_intrinsic_reward(config)


def test_a_spec_of_the_policy_alone_is_kept_whichever_way_it_is_named() -> None:
    policy = RLModuleSpec(module_class=OwnPolicy)
    config = impala().rl_module(
        rl_module_spec=MultiRLModuleSpec(rl_module_specs={DEFAULT_MODULE_ID: policy})
    )
    for method in ("ride_shared_embedding", "none", "ride"):
        config = rllib_ride.add_intrinsic_reward(config, method=method)
        specs = config.rl_module_spec.rl_module_specs
        assert specs[DEFAULT_MODULE_ID].module_class is OwnPolicy


class OwnCallback:
    def __call__(self, **kwargs: Any) -> None:
        pass


def test_the_users_callbacks_stay() -> None:
    own = OwnCallback()
    config = impala().callbacks(on_env_runners_recreated=own, on_algorithm_init=own)
    for _ in range(2):
        config = rllib_ride.add_intrinsic_reward(config)
    first, second = config.callbacks_on_env_runners_recreated
    assert first is own
    assert isinstance(second, EndRecurringErrors)
    assert config.callbacks_on_algorithm_init == [own, update_all_learners_or_none]


class StepCallback(RLlibCallback):
    def on_episode_step(self, **kwargs: Any) -> None:
        pass


def flatten(*args: Any, **kwargs: Any) -> FlattenObservations:
    return FlattenObservations()


@pytest.mark.filterwarnings("ignore:the config has env_to_module_connector")
@pytest.mark.parametrize(
    ("dtype", "high", "expected"), [(np.uint8, 255, True), (np.float32, 255, False)]
)
def test_bytes_that_connectors_make_floats_of_are_told(
    dtype: Any, high: int, expected: bool
) -> None:
    seen = gym.spaces.Box(0, high, (6, 6, 3), dtype)
    config = PPOConfig().environment(N7S4, observation_space=seen, action_space=ACTIONS)
    config = rllib_ride.add_intrinsic_reward(config.env_runners(env_to_module_connector=flatten))
    spec = config.rl_module_spec.rl_module_specs[INTRINSIC_MODULE_ID]
    for space, is_told in (
        (gym.spaces.Box(-np.inf, np.inf, (108,), np.float32), expected),  # FlattenObservations'
        (gym.spaces.Box(0, 1, (108,), np.float32), False),
        (gym.spaces.Box(0, 255, (108,), np.uint8), False),
    ):
        spec.observation_space, spec.action_space = space, ACTIONS
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            spec.build()
        assert any("do not divide by 255" in str(one.message) for one in told) == is_told


def test_what_the_fast_runner_skips_gets_rllibs_own_and_a_warning() -> None:
    for config, name in (
        (impala().callbacks(StepCallback), "on_episode_step"),
        (
            impala().env_runners(env_to_module_connector=lambda *args, **kwargs: []),
            "env_to_module_connector",
        ),
    ):
        with pytest.warns(UserWarning, match=f"has {name}, .* several times slower"):
            rllib_ride.add_intrinsic_reward(config)
        assert config.env_runner_cls is CountingEnvRunner
    assert rllib_ride.add_intrinsic_reward(impala()).env_runner_cls is BatchedEnvRunner


def test_calling_it_again_changes_the_settings() -> None:
    config = impala().rl_module(rl_module_spec=RLModuleSpec(module_class=OwnPolicy))
    config = rllib_ride.add_intrinsic_reward(config, method="none")
    config = rllib_ride.add_intrinsic_reward(config, coef=0.5)
    assert IntrinsicSettings.of(config).coef == 0.5
    specs = config.rl_module_spec.rl_module_specs
    assert specs[DEFAULT_MODULE_ID].module_class is OwnPolicy
    assert INTRINSIC_MODULE_ID in specs


@pytest.mark.parametrize(
    ("config", "settings", "message"),
    [
        (DQNConfig().environment(N7S4), {}, "DQNConfig is not supported.*IMPALA.*PPOConfig"),
        (
            impala().api_stack(
                enable_rl_module_and_learner=False,
                enable_env_runner_and_connector_v2=False,
            ),
            {},
            "old API stack is not supported",
        ),
        (SACConfig().environment("Pendulum-v1"), {}, "SACConfig is not supported"),
        (PPOConfig().environment(N7S4), {"sum_over_time": True}, "sum_over_time=True.*with PPO"),
        (impala(), {"method": "rid"}, "method 'rid' is unknown; did you mean 'ride'"),
        (impala(), {"coeff": 0.1}, "setting 'coeff' is unknown; did you mean 'coef'"),
        (impala(), {"coef": -1.0}, "coef=-1.0 must be at least 0"),
        (impala(), {"counts": "grid"}, "counts='grid' is unknown; use 'full', 'view' or 'none'"),
        (impala(), {"observation_key": "image"}, "observation_key='image'.*no Dict"),
        (impala(), {"lr": 0.0}, "lr=0.0 must be above 0"),
        (impala(), {"coef": float("nan")}, "coef=nan must be at least 0"),
        (impala(), {"reward_clip": -1.0}, "reward_clip=-1.0 must be above 0"),
        (impala(), {"time_limit_is_terminal": "no"}, "time_limit_is_terminal='no' must be True"),
        (impala(), {"rmsprop": {"lr": 1.0}}, "rmsprop: unknown key 'lr', expected some of alpha"),
        (impala(), {"on_nonfinite": "go on"}, "on_nonfinite='go on' is unknown; use 'stop' or"),
        (impala(), {"method_config": {"forward_loss": 1.0}}, "method_config of 'ride': .*forward"),
        (
            impala(),
            {"method_config": {"forward_loss_coef": "1"}},
            "_coef must be a number, not '1'",
        ),
        (
            impala(),
            {"method": "icm", "method_config": {"inverse_loss_coef": None}},
            "method_config of 'icm': inverse_loss_coef must be a number, not None",
        ),
        (IMPALAConfig(), {}, "no environment yet; call config.environment"),
        (impala("MiniGrid-MultiRoom-N7-S4"), {}, "did you mean 'MiniGrid-MultiRoom-N7-S4-v0'"),
        (
            impala().env_runners(batch_mode="complete_episodes"),
            {},
            "batch_mode='complete_episodes' is not supported",
        ),
        (
            impala().fault_tolerance(restart_failed_sub_environments=True),
            {},
            "restart_failed_sub_environments is not supported",
        ),
        (
            impala().learners(learner_connector=lambda *args: []),
            {},
            "has its own learner_connector, which an intrinsic reward would replace",
        ),
        (impala("Taxi-v3"), {}, "Taxi-v3: RLlib's default module reads Box.*FlattenObservations"),
        (impala("Blackjack-v1"), {}, "Blackjack-v1: observation space Tuple"),
        (
            impala("CartPole-v1").rl_module(
                rl_module_spec=RLModuleSpec(module_class=RecurrentPolicy)
            ),
            {},
            r"CartPole-v1: RecurrentPolicy, .* needs images, .* not Box\(.*\) and Discrete\(2\)",
        ),
        (
            impala().multi_agent(policies={"a", "b"}),
            {},
            "multi-agent configs are not supported; one agent is",
        ),
    ],
)
def test_refuses_when_the_config_is_built(
    config: Any, settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        rllib_ride.add_intrinsic_reward(config, **settings)


@pytest.mark.parametrize("method", [name for name in rllib_ride.methods() if name != "none"])
def test_no_method_takes_options_that_it_does_not_have(method: str) -> None:
    with pytest.raises(ValueError, match=f"method_config of '{method}'.*'loss_coeff'"):
        rllib_ride.add_intrinsic_reward(impala(), method=method, method_config={"loss_coeff": 1.0})


def test_only_a_method_defined_by_its_entropy_touches_the_configs() -> None:
    for method, expected in (("no_entropy_no_episodic_counts", 0.0), ("no_episodic_counts", 0.02)):
        config = rllib_ride.add_intrinsic_reward(
            impala().training(entropy_coeff=0.02), method=method
        )
        assert config.entropy_coeff == expected
