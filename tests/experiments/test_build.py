"""Overrides reach RLlib's config, and a config that cannot be trained is refused."""

from __future__ import annotations

from dataclasses import replace

import pytest
from ray.rllib.algorithms.appo import APPOConfig
from ray.rllib.algorithms.impala import IMPALAConfig
from ray.rllib.algorithms.ppo import PPOConfig

from rllib_ride.experiments.build import algorithm_config
from rllib_ride.experiments.errors import ConfigError
from rllib_ride.experiments.overrides import checked_overrides
from rllib_ride.experiments.trial import Trial
from rllib_ride.rllib.settings import IntrinsicSettings

TRIAL = Trial(
    experiment="x",
    name="ride_Empty_seed7",
    env="MiniGrid-Empty-5x5-v0",
    env_options={},
    method="ride",
    preset="paper",
    seed=7,
    frames=1000,
    schedule_frames=50_000,
    config={},
    checkpoint_every_s=60.0,
)


def test_the_preset_anneals_over_the_schedule_not_over_the_stop():
    assert algorithm_config(TRIAL).lr == [[0, 1e-4], [50_000, 0.0]]


def test_overrides_by_rllibs_names_and_of_the_intrinsic_reward():
    overrides = {
        "gamma": 0.5,
        "train_batch_size_per_learner": 64,  # a property, whereas gamma is an attribute
        "intrinsic": {"coef": 3.0, "counts": "view"},
    }

    config = algorithm_config(replace(TRIAL, config=overrides))

    assert (config.gamma, config.total_train_batch_size, config.seed) == (0.5, 64, 7)
    settings = IntrinsicSettings.of(config)
    assert (settings.method, settings.coef, settings.counts) == ("ride", 3.0, "view")


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("rollout_fragment_length", "auto"),
        ("num_cpus_for_main_process", 0.5),
        ("lr", [[0, 1e-4], [50_000, 0]]),
        ("entropy_coeff", [[0, 0.1], [50_000.0, 0.0]]),
        ("grad_clip", None),
        ("evaluation_interval", None),
        ("train_batch_size_per_learner", 2e3),
    ],
)
def test_what_rllib_takes_is_taken(key, value):
    config = algorithm_config(replace(TRIAL, config={key: value}))

    assert config.get(key) == value
    assert isinstance(config.train_batch_size_per_learner, int)  # 2e3 too


def test_ppos_entropy_coefficient_may_be_a_schedule():
    schedule = [[0, 0.1], [50_000, 0.0]]
    trial = replace(TRIAL, preset="tuned_ppo", config={"entropy_coeff": schedule})

    config = algorithm_config(trial)
    config.validate()

    assert config.entropy_coeff == schedule


@pytest.mark.parametrize("config", [IMPALAConfig(), APPOConfig(), PPOConfig()])
def test_each_setting_takes_what_rllib_has_it_at(config):
    settings = {key: config.get(key) for key in {*config.keys()} - {"env", "env_config", "seed"}}
    public = {key: value for key, value in settings.items() if key[0] != "_"}

    assert checked_overrides(public, config) == public


def test_values_of_the_preset_itself():
    values = {"lr": 5e-4, "num_envs": 8, "unroll_length": 20}

    config = algorithm_config(replace(TRIAL, config={"preset": values}))

    assert config.lr == [[0, 5e-4], [50_000, 0.0]]
    assert (config.num_envs_per_env_runner, config.rollout_fragment_length) == (8, 20)
    assert config.train_batch_size_per_learner == 8 * 20


def test_environment_options_reach_the_environment():
    config = algorithm_config(replace(TRIAL, env_options={"size": 8}))

    assert config.env_config == {"size": 8}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"config": {"num_env_runner": 1}}, "did you mean 'config.num_env_runners'?"),
        ({"config": {"intrinsics": {}}}, "did you mean 'config.intrinsic'?"),
        ({"config": {"intrinsic": 3}}, "'config.intrinsic' must hold keys and values, not 3"),
        ({"config": {"preset": "fast"}}, "'config.preset' must hold keys and values, not 'fast'"),
        ({"config": {"preset": {"num_env": 8}}}, "did you mean 'config.preset.num_envs'?"),
        ({"config": {"preset": {"lr": "fast"}}}, "lr='fast' must be a number"),
        ({"config": {"preset": {"lr": 0}}}, "lr=0 must be above 0"),
        ({"config": {"preset": {"num_envs": 2.5}}}, "num_envs=2.5 must be a whole number"),
        ({"config": {"preset": {"network": "papr"}}}, "network='papr' is unknown"),
        ({"config": {"intrinsic": {"counts": "ful"}}}, "counts='ful' is unknown"),
        ({"config": {"env_config": {}}}, "'config.env_config' is set by the key 'env' instead"),
        ({"config": {"evaluation_parallel_to_training": "no"}}, "must be true or false, not 'no'"),
        ({"config": {"learner_config_dict": 1}}, "must be a mapping of keys to values, not 1"),
        ({"config": {"num_epochs": 2.5}}, "'config.num_epochs' must be a whole number, not 2.5"),
        ({"config": {"rollout_fragment_length": 1.5}}, "must be a whole number or 'auto', not 1.5"),
        ({"config": {"rollout_fragment_length": "foo"}}, "a whole number or 'auto', not 'foo'"),
        ({"config": {"evaluation_interval": "foo"}}, "must be a whole number, not 'foo'"),
        ({"config": {"env_runner_cls": "foo"}}, "must be a Python class, not 'foo'"),
        ({"config": {"entropy_coeff": -1}}, "must be at least 0, not -1"),
        ({"config": {"broadcast_interval": 0}}, "must be at least 1, not 0"),
        ({"config": {"metrics_num_episodes_for_smoothing": 0}}, "must be at least 1, not 0"),
        ({"config": {"batch_mode": "foo"}}, "batch_mode='foo' is not supported"),
        ({"env_options": {"sise": 8}}, "trial ride_Empty_seed7: .*sise"),
        ({"env": "Blackjack-v1"}, "trial ride_Empty_seed7: environment Blackjack-v1"),
    ],
)
def test_what_cannot_be_trained_is_refused(changes, message):
    with pytest.raises(ConfigError, match=message):
        algorithm_config(replace(TRIAL, **changes))
