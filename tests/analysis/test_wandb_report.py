import json
import socket

import pytest

from helpers.run_folders import write_trial
from rllib_ride.analysis import wandb_report
from rllib_ride.analysis.runs import read_runs

pytest.importorskip("wandb_workspaces")


@pytest.fixture(autouse=True)
def no_network(monkeypatch):
    def refuse(*args, **kwargs):
        raise AssertionError("this test may not reach for the network")

    monkeypatch.setattr(socket.socket, "connect", refuse)


def spec_of(runs, **options):
    """The report as W&B would be sent it."""
    model = wandb_report.wandb_report(runs, **options)._to_model()
    return json.loads(model.spec.model_dump_json(by_alias=True, exclude_none=True))


def texts(blocks):
    return ["".join(child.get("text", "") for child in b["children"]) for b in blocks]


@pytest.fixture
def runs(tmp_path):
    singleton = {"singleton_seed": 1}
    for experiment, env, options, method in (
        ("first", "A-v0", {}, "ride"),
        ("second", "A-v0", {}, "none"),
        ("second", "B-v0", singleton, "ride"),
    ):
        record = {"experiment": experiment, "env_options": options}
        write_trial(
            tmp_path / experiment, env=env, method=method, record=record, frames=[1, 2],
            return_mean=[0, 0.8],
        )  # fmt: skip
    return read_runs([tmp_path]).runs


def test_a_section_a_task_with_text_before_its_panels(runs):
    blocks = spec_of(runs)["blocks"]

    kinds = [block["type"] for block in blocks if texts([block]) != [""] or "metadata" in block]
    assert kinds == [
        *["paragraph"] * 2,
        *["heading", "paragraph", "paragraph", "panel-grid"],
        *["heading", "paragraph", "panel-grid"],
    ]
    headings = [block for block in blocks if block["type"] == "heading"]
    assert texts(headings) == ["A", "B (singleton_seed=1)"]
    told = " ".join(texts(b for b in blocks if b["type"] == "paragraph"))
    assert "ride: return 0.800; 1 of 1 seeds reach 0.5, after 2 frames" in told


def test_panels_are_the_tasks_runs_by_method(runs):
    grids = [b["metadata"] for b in spec_of(runs)["blocks"] if b["type"] == "panel-grid"]

    (first, second), (only,) = (grid["runSets"] for grid in grids)
    assert (first["name"], second["name"], only["name"]) == ("first", "second", "second")

    def filters(runset):
        return {f["key"]["name"]: (f["op"], f["value"]) for f in runset["filters"]["filters"]}

    assert filters(first) == filters(second) == {"trial.value.env": ("=", "A-v0")}
    assert filters(only) == {
        "trial.value.env": ("=", "B-v0"),
        "trial.value.env_options.singleton_seed": ("=", 1),
    }
    assert {g["name"] for s in (first, second, only) for g in s["grouping"]} == {
        "trial.value.method"
    }


def test_each_grid_has_a_line_plot_of_return_and_of_intrinsic_reward(runs):
    for block in spec_of(runs)["blocks"]:
        if block["type"] != "panel-grid":
            continue
        panels = block["metadata"]["panelBankSectionConfig"]["panels"]
        configs = [panel["config"] for panel in panels]
        assert [config["metrics"] for config in configs] == [
            ["env_runners/episode_return_mean"],
            ["learners/intrinsic/intrinsic_reward_mean"],
        ]
        for config in configs:
            assert config["xAxis"] == "num_env_steps_sampled_lifetime"
            assert config["groupBy"] == "trial.value.method"
            assert (config["groupAgg"], config["groupArea"]) == ("mean", "stddev")
        left, right = (panel["layout"] for panel in panels)
        assert left["x"] + left["w"] <= right["x"]


def test_metrics_are_those_that_rllib_reports_and_ray_logs():
    """The names `Progress` reads, joined as Ray's W&B callback joins them."""
    from ray.rllib.utils.metrics import (
        ENV_RUNNER_RESULTS,
        EPISODE_RETURN_MEAN,
        LEARNER_RESULTS,
        NUM_ENV_STEPS_SAMPLED_LIFETIME,
    )

    from rllib_ride.rllib.settings import INTRINSIC_MODULE_ID

    assert wandb_report.FRAMES == NUM_ENV_STEPS_SAMPLED_LIFETIME
    assert list(wandb_report.PANELS.values()) == [
        f"{ENV_RUNNER_RESULTS}/{EPISODE_RETURN_MEAN}",
        f"{LEARNER_RESULTS}/{INTRINSIC_MODULE_ID}/intrinsic_reward_mean",
    ]


def test_it_goes_to_the_first_experiments_project(runs):
    report = wandb_report.wandb_report(runs)

    assert (report.project, report.entity) == ("first", "")
    assert report.title == "Report on first, second"
