"""What each preset builds, and which of the paper's values it has."""

from __future__ import annotations

import functools

import pytest
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.core import DEFAULT_MODULE_ID

from rllib_ride.rllib.presets import make_config, presets
from rllib_ride.rllib.settings import IntrinsicSettings

N7S4 = "MiniGrid-MultiRoom-N7-S4-v0"


@pytest.mark.parametrize("preset", presets())
def test_a_preset_refuses_what_its_network_cannot_see(preset: str) -> None:
    with pytest.raises(
        ValueError, match="CartPole-v1: RecurrentPolicy, the network of the presets"
    ):
        make_config(preset=preset, method="none", env="CartPole-v1", frames=1e6)


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
    """Otherwise older checkpoints, matched by their modules' configs, could not be resumed."""
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


@pytest.mark.parametrize("env", [N7S4, "MiniGrid-MultiRoom-N12-S10-v0"])
@pytest.mark.parametrize("preset", ["paper", "released", "tuned"])
def test_each_method_has_the_papers_coefficients(preset: str, env: str) -> None:
    """Coefficients of bonus and entropy: appendix A.2, where the ablations have RIDE's."""
    ride = (0.1, 0.0005) if env == N7S4 else (0.5, 0.001)
    for method, expected in {
        "ride": ride,
        "none": ride,
        "only_episodic_counts": ride,
        "no_episodic_counts": ride,
        "no_entropy_no_episodic_counts": (ride[0], 0.0),
        "icm": (0.1, 0.0001),
        "rnd": (0.1, 0.0001),
        "count": (0.005, 0.0001),
    }.items():
        config = make_config(preset=preset, method=method, env=env, frames=1e6)
        assert (IntrinsicSettings.of(config).coef, config.entropy_coeff) == expected, method


def test_ppo_has_the_papers_bonus_and_an_entropy_of_its_own() -> None:
    """Next to advantages of unit variance, the paper's entropy coefficients have no effect."""
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


def test_an_unknown_preset_names_the_nearest() -> None:
    with pytest.raises(ValueError, match="preset 'papr' is unknown; did you mean 'paper'"):
        make_config(preset="papr", method="ride", env=N7S4, frames=1e6)
