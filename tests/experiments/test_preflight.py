"""Resources, versions and nodes are checked before a trial could wait for them."""

from __future__ import annotations

import dataclasses
import json

import pytest

from helpers.command import command
from rllib_ride.experiments import preflight
from rllib_ride.experiments.errors import ConfigError
from rllib_ride.experiments.trial import Trial

TRIAL = Trial(
    experiment="x",
    name="ride_Empty-5x5_seed1",
    env="MiniGrid-Empty-5x5-v0",
    env_options={},
    method="ride",
    preset="tuned",
    seed=1,
    frames=1000,
    schedule_frames=1000,
    config={},
    checkpoint_every_s=60.0,
)
FIVE = dataclasses.replace(TRIAL, config={"num_env_runners": 4})


@pytest.mark.parametrize(
    ("bundles", "nodes", "answer"),
    [
        ([{"CPU": 1}], [{"CPU": 1}], True),
        ([{"CPU": 1}], [{"CPU": 0}], False),
        ([{"CPU": 1}], [], False),
        ([{"CPU": 1}] * 3, [{"CPU": 2}, {"CPU": 1}], True),
        ([{"CPU": 2}, {"CPU": 2}], [{"CPU": 3}, {"CPU": 1}], False),  # enough only in total
        ([{"CPU": 1}, {"CPU": 3}], [{"CPU": 3}, {"CPU": 1}], True),  # the largest is placed first
        ([{"CPU": 1, "GPU": 1}], [{"CPU": 8}], False),
        ([{"CPU": 1, "GPU": 0.5}] * 2, [{"CPU": 2, "GPU": 1}], True),
        ([{}], [{"CPU": 0}], True),
    ],
)
def test_parts_are_fitted_into_nodes(bundles, nodes, answer):
    before = [dict(node) for node in nodes]

    assert preflight.fits(bundles, nodes) is answer
    assert nodes == before


def test_a_trial_that_can_never_start_is_refused_with_what_there_is():
    with pytest.raises(ConfigError) as refused:
        preflight.check_resources([TRIAL, FIVE], [{"CPU": 2.0, "memory": 1e9}, {"CPU": 2.0}])

    told = str(refused.value)
    assert told.startswith("trial ride_Empty-5x5_seed1 needs 5 CPU at once (5 x 1 CPU). ")
    assert "There is 4 CPU on 2 nodes. " in told
    assert "--set num_env_runners=0" in told


def test_trials_that_fit_one_at_a_time_may_wait_for_one_another():
    preflight.check_resources([TRIAL] * 9, [{"CPU": 1.0}])
    preflight.check_resources([FIVE], [{"CPU": 5.0}])


def test_what_an_autoscaler_may_add_counts():
    preflight.check_resources([FIVE], [{"CPU": 2.0}], launchable=[{"CPU": 4}])

    with pytest.raises(ConfigError, match="and the autoscaler may add 2 CPU on 1 node"):
        preflight.check_resources([FIVE], [{"CPU": 2.0}], launchable=[{"CPU": 2}])


def test_what_an_autoscaler_may_add_is_read_from_the_heads_file(tmp_path):
    file = tmp_path / "ray_bootstrap_config.yaml"
    cluster = {
        "max_workers": 3,
        "head_node_type": "head",
        "available_node_types": {
            "head": {"resources": {"CPU": 64}, "max_workers": 1},
            "worker": {"resources": {"CPU": 4}, "max_workers": 2},
            "gpu": {"resources": {"CPU": 8, "GPU": 1}},
        },
    }
    file.write_text(json.dumps(cluster))

    worker, gpu = {"CPU": 4}, {"CPU": 8, "GPU": 1}
    assert preflight.launchable_nodes(0, file) == [worker, worker, gpu]  # 3 workers at most
    assert preflight.launchable_nodes(2, file) == [worker]
    assert preflight.launchable_nodes(3, file) == []
    assert preflight.launchable_nodes(0, tmp_path / "none.yaml") == []


HERE = {"python": "3.11.7", "ray": "2.60.0", "rllib-ride": "0.1.0 (source 12ab34cd)"}


def test_nodes_with_the_same_versions_are_taken():
    preflight.check_versions(HERE, {"10.0.0.1": dict(HERE), "10.0.0.2": dict(HERE)})


@pytest.mark.parametrize(
    ("there", "told"),
    [
        ({**HERE, "ray": "2.59.0"}, "10.0.0.2 has ray 2.59.0, not 2.60.0"),
        (
            {**HERE, "rllib-ride": "0.1.0 (source ffffffff)"},
            r"10.0.0.2 has rllib-ride 0.1.0 \(source ffffffff\), not 0.1.0 \(source 12ab34cd\)",
        ),
        ("no answer within 60 s", "10.0.0.2: no answer within 60 s"),
    ],
)
def test_a_node_that_differs_is_named_with_what_differs(there, told):
    with pytest.raises(ConfigError, match=told) as refused:
        preflight.check_versions(HERE, {"10.0.0.1": dict(HERE), "10.0.0.2": there})

    assert "10.0.0.1" not in str(refused.value)


def test_a_real_ray_passes_and_its_nodes_tell_what_is_here(ray_session):
    preflight.preflight([TRIAL])

    (answer,) = preflight.node_versions().values()
    assert answer == preflight.versions()
    assert set(answer) == {"python", "ray", "torch", "rllib-ride"}
    assert "(source " in answer["rllib-ride"]


def test_the_command_refuses_it_and_writes_nothing(tmp_path):
    (tmp_path / "x.yaml").write_text(
        "{experiment: x, env: MiniGrid-Empty-5x5-v0, method: none, seed: 1, frames: 1e3}"
    )

    code, out, err = command("run", "x.yaml", "--set", "num_env_runners=999", folder=tmp_path)

    assert code == 2, err
    assert out == ""
    assert "trial none_Empty-5x5_seed1 needs 1000 CPU at once" in err
    assert "Traceback" not in err
    assert [path.name for path in tmp_path.iterdir()] == ["x.yaml"]
