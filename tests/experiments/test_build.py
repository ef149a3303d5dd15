"""Every shipped experiment builds, and overrides reach the config that trains."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from rllib_ride.experiments.build import algorithm_config
from rllib_ride.experiments.errors import ConfigError
from rllib_ride.experiments.paper import origin
from rllib_ride.experiments.plan import plan
from rllib_ride.experiments.trial import Trial
from rllib_ride.rllib.settings import IntrinsicSettings

FILES = sorted((Path(__file__).parents[2] / "tune_configs").glob("*.yaml"))

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


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_shipped_experiment_builds_and_names_its_origin(path):
    planned = plan(path)

    assert planned
    for entry in planned:
        assert entry.config.env == entry.trial.env
        assert entry.config.seed == entry.trial.seed
        assert IntrinsicSettings.of(entry.config).method == entry.trial.method
        assert entry.resources["CPU"] >= 1
    assert origin(path).startswith(("fig:", "tab:"))


def test_there_are_experiments():
    assert "quickstart" in [path.stem for path in FILES]


def test_the_preset_anneals_over_the_schedule_not_over_the_stop():
    assert algorithm_config(TRIAL).lr == [[0, 1e-4], [50_000, 0.0]]


def test_overrides_by_rllibs_names_and_of_the_intrinsic_reward():
    overrides = {
        "gamma": 0.5,
        "train_batch_size_per_learner": 64,  # a property, where gamma is an attribute
        "intrinsic": {"coef": 3.0, "counts": "view"},
    }

    config = algorithm_config(replace(TRIAL, config=overrides))

    assert (config.gamma, config.total_train_batch_size, config.seed) == (0.5, 64, 7)
    settings = IntrinsicSettings.of(config)
    assert (settings.method, settings.coef, settings.counts) == ("ride", 3.0, "view")


def test_environment_options_reach_the_environment():
    config = algorithm_config(replace(TRIAL, env_options={"size": 8}))

    assert config.env_config == {"size": 8}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"config": {"num_env_runner": 1}}, "did you mean 'config.num_env_runners'?"),
        ({"config": {"intrinsics": {}}}, "did you mean 'config.intrinsic'?"),
        ({"config": {"intrinsic": 3}}, "'config.intrinsic' must hold keys and values, not 3"),
        ({"config": {"intrinsic": {"counts": "ful"}}}, "counts='ful' is unknown"),
        ({"config": {"env_config": {}}}, "'config.env_config' is set by the key 'env' instead"),
        ({"config": {"evaluation_parallel_to_training": "no"}}, "must be true or false, not 'no'"),
        ({"config": {"learner_config_dict": 1}}, "must be a mapping of keys to values, not 1"),
        ({"env_options": {"sise": 8}}, "trial ride_Empty_seed7: .*sise"),
        ({"env": "Blackjack-v1"}, "trial ride_Empty_seed7: environment Blackjack-v1"),
    ],
)
def test_what_cannot_be_trained_is_refused(changes, message):
    with pytest.raises(ConfigError, match=message):
        algorithm_config(replace(TRIAL, **changes))
