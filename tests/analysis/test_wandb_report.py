import json
import socket
from types import SimpleNamespace

import pytest

from helpers.run_folders import write_trial
from helpers.trials import trial
from rllib_ride.analysis import wandb_report
from rllib_ride.analysis.runs import read_runs
from rllib_ride.experiments.wandb import WandbCallback

pytest.importorskip("wandb_workspaces")


@pytest.fixture(autouse=True)
def no_network(monkeypatch):
    def refuse(*args, **kwargs):
        raise AssertionError("this test may not reach for the network")

    monkeypatch.setattr(socket.socket, "connect", refuse)


def spec_of(runs, **options):
    """The report as it would be sent to W&B."""
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
        *["paragraph"] * 3,
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

    assert filters(first) == filters(second) == {"env.value": ("=", "A-v0")}
    assert filters(only) == {
        "env.value": ("=", "B-v0"),
        "env_options.value.singleton_seed": ("=", 1),
    }
    assert {g["name"] for s in (first, second, only) for g in s["grouping"]} == {"method.value"}


def test_each_grid_has_a_line_plot_of_return_and_of_intrinsic_reward(runs):
    for block in spec_of(runs)["blocks"]:
        if block["type"] != "panel-grid":
            continue
        panels = block["metadata"]["panelBankSectionConfig"]["panels"]
        configs = [panel["config"] for panel in panels]
        assert [config["metrics"] for config in configs] == [
            ["return_mean"],
            ["intrinsic_reward_mean"],
        ]
        for config in configs:
            assert config["xAxis"] == "frames"
            assert config["groupBy"] == "method.value"
            assert (config["groupAgg"], config["groupArea"]) == ("mean", "stddev")
        left, right = (panel["layout"] for panel in panels)
        assert left["x"] + left["w"] <= right["x"]


def test_panels_and_filters_go_by_what_the_callback_logs(tmp_path, monkeypatch):
    """The names that `rllib-ride run --wandb` logs: columns of the curve, entries of the record."""
    wandb = pytest.importorskip("wandb")
    options = {"singleton_seed": 1}
    folder = write_trial(
        tmp_path, record=trial(env_options=options).to_dict(), frames=[10], return_mean=[0.5],
        intrinsic_reward_mean=[0.1],
    )  # fmt: skip
    started, rows = [], []
    run = SimpleNamespace(dir=folder, step=0, log=lambda row, step: rows.append(row))
    monkeypatch.setattr(wandb, "init", lambda **given: started.append(given) or run)
    tune_trial = SimpleNamespace(
        path=str(folder), trial_id="t", config={"trial": trial(env_options=options).to_dict()}
    )

    WandbCallback("online", "x", artifacts=False).on_trial_start(0, [tune_trial], tune_trial)

    (given,), (row,) = started, rows
    assert {wandb_report.FRAMES, *wandb_report.PANELS.values()} <= row.keys()
    names = (wandb_report.METHOD, wandb_report.ENV, wandb_report.OPTIONS)
    logged = [given["config"][name.removesuffix(".value")] for name in names]
    assert logged == ["ride", "MiniGrid-Empty-5x5-v0", options]


def test_it_goes_to_the_first_experiments_project(runs):
    report = wandb_report.wandb_report(runs)

    assert (report.project, report.entity) == ("first", "")
    assert report.title == "Report on first, second"
