"""What `add_intrinsic_reward` builds, and what it refuses."""

from __future__ import annotations

import functools
import warnings
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces
from ray.rllib.algorithms.dqn import DQNConfig
from ray.rllib.algorithms.impala import IMPALAConfig
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.algorithms.ppo.torch.default_ppo_torch_rl_module import DefaultPPOTorchRLModule
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
from rllib_ride.rllib.presets import make_config, presets
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


@pytest.mark.parametrize("preset", presets())
def test_a_preset_refuses_what_its_network_cannot_see(preset: str) -> None:
    with pytest.raises(
        ValueError, match="CartPole-v1: RecurrentPolicy, the network of the presets"
    ):
        make_config(preset=preset, method="none", env="CartPole-v1", frames=1e6)


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
        (impala(), {"method": "rid"}, "unknown method 'rid'.*did you mean 'ride'"),
        (impala(), {"coeff": 0.1}, "unknown setting 'coeff'.*coef"),
        (impala(), {"coef": -1.0}, "coef=-1.0 must be at least 0"),
        (impala(), {"counts": "grid"}, "counts='grid' is unknown; use 'full', 'view' or 'none'"),
        (impala(), {"observation_key": "image"}, "observation_key='image'.*no Dict"),
        (impala(), {"lr": 0.0}, "lr=0.0 must be above 0"),
        (impala(), {"coef": float("nan")}, "coef=nan must be at least 0"),
        (impala(), {"reward_clip": -1.0}, "reward_clip=-1.0 must be above 0"),
        (impala(), {"time_limit_is_terminal": "no"}, "time_limit_is_terminal='no' must be True"),
        (impala(), {"rmsprop": {"lr": 1.0}}, "rmsprop: unknown key 'lr', want some of alpha"),
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


VECTOR = spaces.Box(-1, 1, (3,), np.float32)


def with_spaces(observation_space: gym.Space, action_space: gym.Space) -> PPOConfig:
    return PPOConfig().environment(
        "CartPole-v1", observation_space=observation_space, action_space=action_space
    )


@pytest.mark.parametrize(
    ("observations", "actions", "message"),
    [
        (VECTOR, spaces.Box(-1, 1, ()), r"action space Box\(.*\) has no axis.* want shape \(1,\)"),
        (VECTOR, spaces.Tuple((ACTIONS, ACTIONS)), "action space Tuple.* want one array an action"),
        (VECTOR, spaces.Dict(a=ACTIONS), "action space Dict.* want one array an action"),
        (VECTOR, spaces.Discrete(3, start=1), "Discrete.3, start=1.* want one counted from 0"),
        (VECTOR, spaces.Box(0, 5, (2,), np.int64), "acts in .* Box of floats, shape .n,., not Box"),
        (VECTOR, spaces.Box(-1, 1, (2, 3)), "acts in .* Box of floats, shape .n,., not Box"),
        (VECTOR, spaces.MultiBinary(3), "acts in a Discrete, a MultiDiscrete or .* MultiBinary"),
        (spaces.Box(-1, 1, (3, 4)), ACTIONS, "reads Box .*FlattenObservations"),
        (spaces.Box(0, 9, (3,), np.int64), ACTIONS, "reads Box .*FlattenObservations"),
        (spaces.Box(0, 255, (3,), np.uint8), ACTIONS, "reads Box .*FlattenObservations"),
        (spaces.Box(0, 1, (4,), bool), ACTIONS, "reads Box .*FlattenObservations"),
        (spaces.Box(0, 1, (4,), np.float16), ACTIONS, "reads Box .*FlattenObservations"),
        (FRAMES, spaces.Box(-1, 1, (2,)), "reads Box .*DtypeObservation and RescaleObservation"),
    ],
)
def test_spaces_that_the_policy_cannot_have_are_refused_without_a_bonus_too(
    observations: gym.Space, actions: gym.Space, message: str
) -> None:
    config = with_spaces(observations, actions)
    with pytest.raises(ValueError, match=f"environment CartPole-v1: .*{message}"):
        rllib_ride.add_intrinsic_reward(config, method="none")


def test_a_module_of_the_users_may_take_what_rllibs_does_not() -> None:
    for observations, actions in (
        (spaces.Box(-1, 1, (3, 4)), ACTIONS),
        (VECTOR, spaces.Box(-1, 1, (2, 3))),
    ):
        config = with_spaces(observations, actions)
        config.rl_module(rl_module_spec=RLModuleSpec(module_class=DefaultPPOTorchRLModule))
        rllib_ride.add_intrinsic_reward(config)
    for actions in (spaces.MultiDiscrete([2, 3]), spaces.Box(-1, 1, (2,), np.float64)):
        config = with_spaces(spaces.Box(-1, 1, (3,), np.float64), actions)
        rllib_ride.add_intrinsic_reward(config, method="none")


def test_every_preset_builds_and_holds_its_numbers() -> None:
    assert presets() == ["paper", "released", "tuned", "tuned_ppo"]
    for preset, steps, eps, lr in (
        ("paper", 100, 0.01, [[0, 1e-4], [30_000_000, 0.0]]),
        ("released", 100, 1e-5, [[0, 1e-4], [30_000_000, 0.0]]),
        ("tuned", 64, 1e-5, [[0, 4e-4], [100_000_000, 0.0]]),
    ):
        config = make_config(preset=preset, method="ride", env=N7S4, frames=3e7, seed=1)
        settings = IntrinsicSettings.of(config)
        assert config.rollout_fragment_length == steps
        assert config.train_batch_size_per_learner == 32 * steps
        assert config.lr == lr
        assert settings.rmsprop == {"alpha": 0.99, "eps": eps, "momentum": 0.0}
        assert (settings.coef, config.entropy_coeff, settings.counts) == (0.1, 0.0005, "full")
        config.validate()


def test_the_ppo_preset_builds_and_holds_its_numbers() -> None:
    config = make_config(preset="tuned_ppo", method="ride", env=N7S4, frames=3e7, seed=1)
    assert isinstance(config, PPOConfig)
    settings = IntrinsicSettings.of(config)
    assert (config.rollout_fragment_length, config.num_envs_per_env_runner) == (64, 32)
    assert (config.train_batch_size_per_learner, config.minibatch_size) == (2048, 512)
    assert (config.num_epochs, config.clip_param, config.lambda_) == (4, 0.2, 0.95)
    assert (config.lr, config.grad_clip) == ([[0, 3e-4], [100_000_000, 0.0]], 0.5)
    assert (settings.coef, config.entropy_coeff, settings.counts) == (0.1, 0.01, "full")
    assert settings.rmsprop is None and not settings.sum_over_time
    policy = config.rl_module_spec.rl_module_specs[DEFAULT_MODULE_ID]
    assert policy.model_config == {"network": "paper", "max_seq_len": 32}
    config.validate()


def test_a_preset_of_impala_names_its_network_alone() -> None:
    """Or no checkpoint of before would be gone on with: it is told by its modules."""
    config = make_config(preset="tuned", method="ride", env=N7S4, frames=3e7)
    policy = config.rl_module_spec.rl_module_specs[DEFAULT_MODULE_ID]
    assert policy.model_config == {"network": "paper"}


def test_any_preset_can_have_the_other_algorithm() -> None:
    config = make_config(
        preset="tuned", method="ride", env=N7S4, frames=1e6, values={"algorithm": "ppo"}
    )
    assert isinstance(config, PPOConfig)
    assert IntrinsicSettings.of(config).rmsprop == {"alpha": 0.99, "eps": 1e-5, "momentum": 0.0}
    for unknown in ("sac", ["ppo"]):
        with pytest.raises(ValueError, match="algorithm=.* is unknown; use 'impala' or 'ppo'"):
            make_config(
                preset="tuned", method="ride", env=N7S4, frames=1e6, values={"algorithm": unknown}
            )


def test_ppo_of_few_environments_has_one_minibatch() -> None:
    config = make_config(
        preset="tuned_ppo", method="ride", env=N7S4, frames=1e6, values={"num_envs": 4}
    )
    assert config.minibatch_size == config.train_batch_size_per_learner == 256
    config.validate()


def test_hard_tasks_have_the_papers_larger_bonus() -> None:
    config = make_config(
        preset="paper", method="ride", env="MiniGrid-MultiRoom-N12-S10-v0", frames=1e8
    )
    assert (IntrinsicSettings.of(config).coef, config.entropy_coeff) == (0.5, 0.001)


@pytest.mark.parametrize("env", [N7S4, "MiniGrid-MultiRoom-N12-S10-v0"])
@pytest.mark.parametrize("preset", ["paper", "released", "tuned"])
def test_each_method_has_the_papers_coefficients(preset: str, env: str) -> None:
    """Of the bonus and of the entropy: appendix A.2, where the ablations have RIDE's."""
    ride = (0.1, 0.0005) if env == N7S4 else (0.5, 0.001)
    for method, expected in {
        "ride": ride,
        "none": ride,
        "only_episodic_counts": ride,
        "no_episodic_counts": ride,
        "no_entropy_no_episodic_counts": (ride[0], 0.0),
        "icm": (0.1, 0.0001),
        "rnd": (0.1, 0.0001),
    }.items():
        config = make_config(preset=preset, method=method, env=env, frames=1e6)
        assert (IntrinsicSettings.of(config).coef, config.entropy_coeff) == expected, method


def test_ppo_has_the_papers_bonus_and_an_entropy_of_its_own() -> None:
    """Its advantages have unit variance, beside which the paper's coefficients do nothing."""
    for method, expected in {
        "ride": (0.1, 0.01),
        "none": (0.1, 0.01),
        "count": (0.005, 0.01),
        "icm": (0.1, 0.01),
        "no_entropy_no_episodic_counts": (0.1, 0.0),
    }.items():
        config = make_config(preset="tuned_ppo", method=method, env=N7S4, frames=1e6)
        assert (IntrinsicSettings.of(config).coef, config.entropy_coeff) == expected, method


@pytest.mark.parametrize(
    ("preset", "env", "expected"),
    [
        ("tuned", "MiniGrid-MultiRoom-N7-S8-v0", 2.5e-5),
        ("tuned", "MiniGrid-ObstructedMaze-2Dlh-v0", 2.5e-5),
        ("tuned", N7S4, 1e-4),
        ("paper", "MiniGrid-MultiRoom-N7-S8-v0", 1e-4),
        ("released", "MiniGrid-MultiRoom-N7-S8-v0", 1e-4),
    ],
)
def test_the_harder_tasks_have_a_slower_embedding_when_tuned(
    preset: str, env: str, expected: float
) -> None:
    build = functools.partial(make_config, preset=preset, env=env, frames=1e6)
    for method in ("ride", "rnd"):
        assert IntrinsicSettings.of(build(method=method)).lr == expected
    own = build(method="ride", intrinsic={"lr": 3e-4}, values={"harder_intrinsic_lr": 2e-4})
    assert IntrinsicSettings.of(own).lr == 3e-4


def test_only_a_method_defined_by_its_entropy_touches_the_configs() -> None:
    for method, expected in (("no_entropy_no_episodic_counts", 0.0), ("no_episodic_counts", 0.02)):
        config = rllib_ride.add_intrinsic_reward(
            impala().training(entropy_coeff=0.02), method=method
        )
        assert config.entropy_coeff == expected


def test_an_unknown_preset_names_the_nearest() -> None:
    with pytest.raises(ValueError, match="unknown preset 'papr'.*did you mean 'paper'"):
        make_config(preset="papr", method="ride", env=N7S4, frames=1e6)
