"""The product of environments, methods, seeds and grid, and how a command line filters it."""

from __future__ import annotations

import json

import pytest

from rllib_ride.experiments.errors import ConfigError
from rllib_ride.experiments.schema import ExperimentSpec
from rllib_ride.experiments.trial import Trial, expand


def spec(**changes):
    values = {
        "experiment": "x",
        "env": ["MiniGrid-A-v0", {"id": "MiniGrid-B-v1", "size": 5}],
        "method": ["ride", "icm", "none"],
        "preset": "tuned",
        "seed": [1, 2, 3, 4, 5],
        "frames": 1e6,
        "config": {"lr": 1e-3, "intrinsic": {"coef": 0.5, "lr": 2.0}},
    }
    return ExperimentSpec.model_validate({**values, **changes})


def test_every_env_with_every_method_and_seed():
    trials = expand(spec())

    assert len(trials) == 2 * 3 * 5
    assert len({(t.env, t.method, t.seed) for t in trials}) == 2 * 3 * 5
    assert len({t.name for t in trials}) == len(trials)
    assert trials[0].name == "ride_A_seed1"
    assert trials[-1].name == "none_B-v1_size=5_seed5"
    assert trials[-1].env_options == {"size": 5}


def test_the_grid_multiplies_and_sets_its_keys_over_the_config():
    trials = expand(spec(seed=7, grid={"lr": [1e-4, 1e-5], "intrinsic.coef": [0.1, 0.2, 0.3]}))

    assert len(trials) == 2 * 3 * 1 * 6
    assert trials[1].name == "ride_A_lr=0.0001_coef=0.2_seed7"
    assert trials[1].config == {"lr": 1e-4, "intrinsic": {"coef": 0.2, "lr": 2.0}}
    assert trials[-1].config == {"lr": 1e-5, "intrinsic": {"coef": 0.3, "lr": 2.0}}


def test_where_to_stop_is_the_files_or_the_command_lines():
    assert {t.stop_at_return for t in expand(spec())} == {None}
    assert {t.stop_at_return for t in expand(spec(stop_at_return=0.6))} == {0.6}
    assert {t.stop_at_return for t in expand(spec(stop_at_return=0.6), stop_at_return=0.0)} == {0.0}


def test_overrides_win_and_leave_the_file_as_it_was():
    before = spec()

    trials = expand(before, overrides={"intrinsic.coef": 9, "model_config.a.b": 1})

    assert trials[0].config == {
        "lr": 1e-3,
        "intrinsic": {"coef": 9, "lr": 2.0},
        "model_config": {"a": {"b": 1}},
    }
    assert before == spec()


def test_narrowing():
    trials = expand(spec(), methods=["icm", "ride"], envs=["MiniGrid-B-v1"], seeds=[3])

    assert [t.name for t in trials] == ["ride_B-v1_size=5_seed3", "icm_B-v1_size=5_seed3"]


@pytest.mark.parametrize(
    ("narrowing", "message"),
    [
        ({"methods": ["rnd"]}, "method 'rnd' is not in the experiment, which has: ride, icm, none"),
        ({"envs": ["A"]}, "env 'A' is not in the experiment, which has: MiniGrid-A-v0"),
        ({"seeds": [6]}, "seed 6 is not in the experiment, which has: 1, 2, 3, 4, 5"),
    ],
)
def test_narrowing_to_what_is_not_there_is_refused(narrowing, message):
    with pytest.raises(ConfigError, match=message):
        expand(spec(), **narrowing)


def test_stopping_early_does_not_anneal_faster():
    assert {(t.frames, t.schedule_frames) for t in expand(spec())} == {(10**6, 10**6)}
    assert {(t.frames, t.schedule_frames) for t in expand(spec(), frames=10)} == {(10, 10**6)}
    longer = expand(spec(), frames=2 * 10**6)
    assert {(t.frames, t.schedule_frames) for t in longer} == {(2 * 10**6, 2 * 10**6)}


def test_the_papers_frames_are_each_tasks_own_and_the_longest_come_first():
    envs = ["MiniGrid-MultiRoom-N7-S4-v0", {"id": "MiniGrid-MultiRoom-N12-S10-v0", "max_steps": 9}]

    trials = expand(spec(env=envs, method=["ride", "none"], seed=[1, 2], frames="paper"))

    assert [(t.name, t.frames) for t in trials] == [
        *((f"ride_MultiRoom-N12-S10_max_steps=9_seed{seed}", 10**8) for seed in (1, 2)),
        *((f"none_MultiRoom-N12-S10_max_steps=9_seed{seed}", 10**8) for seed in (1, 2)),
        *((f"ride_MultiRoom-N7-S4_seed{seed}", 3 * 10**7) for seed in (1, 2)),
        *((f"none_MultiRoom-N7-S4_seed{seed}", 3 * 10**7) for seed in (1, 2)),
    ]
    assert all(t.schedule_frames == t.frames for t in trials)
    early = expand(spec(env=envs, frames="paper"), frames=100)
    assert {(t.frames, t.schedule_frames) for t in early} == {(100, 10**8), (100, 3 * 10**7)}


def test_the_papers_frames_of_a_task_it_has_none_for_are_refused():
    with pytest.raises(ConfigError, match="'frames' must be a number for MiniGrid-A-v0: the paper"):
        expand(spec(frames="paper"))


def test_an_override_of_a_key_with_a_grid_is_searched_no_more():
    grid = {"lr": [1e-4, 1e-5], "intrinsic.coef": [0.1, 0.2]}

    trials = expand(spec(method="ride", env="A", seed=7, grid=grid), overrides={"lr": 1.0})

    assert [t.name for t in trials] == ["ride_A_coef=0.1_seed7", "ride_A_coef=0.2_seed7"]
    assert {t.config["lr"] for t in trials} == {1.0}


def test_two_trials_may_not_share_a_folder():
    envs = [{"id": "A", "size": 5}, {"id": "A", "size": 5.0, "other": 1}, {"id": "A_size=5"}]
    with pytest.raises(ConfigError, match="2 trials would share the folder 'ride_A_size=5_seed1'"):
        expand(spec(env=envs, seed=1))


def test_a_key_below_a_value_is_refused():
    with pytest.raises(ConfigError, match="'lr.x': 'lr' holds no keys of its own"):
        expand(spec(), overrides={"lr.x": 1})


def test_a_trial_survives_json():
    trial = expand(spec())[7]

    assert Trial(**json.loads(json.dumps(trial.to_dict()))) == trial


def test_settings_too_long_for_a_folders_name_are_cut_to_a_checksum():
    spec = ExperimentSpec(
        experiment="x",
        env="MiniGrid-Empty-5x5-v0",
        method="ride",
        seed=1,
        frames=1,
        grid={"intrinsic.method_config": [{"x": "ä" * 500}, {"x": "ä" * 501}]},
    )
    names = [trial.name for trial in expand(spec)]
    assert len(set(names)) == 2
    for name in names:
        assert name.startswith("ride_Empty-5x5_method_config=") and name.endswith("_seed1")
        assert len(name.encode()) < 160


def test_more_trials_than_anyone_runs_are_refused():
    spec = ExperimentSpec(
        experiment="x",
        env="MiniGrid-Empty-5x5-v0",
        method="ride",
        seed=[1, 2],
        frames=1,
        grid={"lr": list(range(5001))},
    )
    with pytest.raises(ConfigError, match="together make 10,002 trials, expected at most 10,000"):
        expand(spec)
    assert len(expand(spec, seeds=[1])) == 5001
