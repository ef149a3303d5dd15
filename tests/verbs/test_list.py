"""`rllib-ride list experiments` from inside and outside of the clone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import rllib_ride
from rllib_ride.cli import main

CLONE = Path(__file__).parents[2]


def listed(capsys) -> dict[str, dict]:
    assert main(["list", "experiments", "--json"]) == 0
    return {row["experiment"]: row for row in json.loads(capsys.readouterr().out)}


def test_every_experiment_with_its_trials_and_frames(capsys, monkeypatch):
    monkeypatch.chdir(CLONE)

    rows = listed(capsys)

    assert list(rows) == sorted(str(p) for p in Path("tune_configs").glob("*.yaml"))
    assert rows["tune_configs/minigrid_all.yaml"] == {
        "experiment": "tune_configs/minigrid_all.yaml",
        "trials": 200,
        "frames": 11_250_000_000,
        "paper": "fig:minigrid, all eight tasks.",
    }


def test_outside_of_the_clone_its_files_are_found(capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)

    rows = listed(capsys)

    assert rows[str(CLONE / "tune_configs" / "minigrid_all.yaml")]["trials"] == 200


def test_ones_own_come_first(capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tune_configs").mkdir()
    text = (CLONE / "tune_configs" / "quickstart.yaml").read_text()
    (tmp_path / "tune_configs" / "mine.yaml").write_text(text)

    assert list(listed(capsys)) == ["tune_configs/mine.yaml"]


@pytest.mark.parametrize(
    ("frames", "message"),
    [
        ("frames: lots", "tune_configs/mine.yaml: key 'frames' must be a positive"),
        ("frames: paper\nenv: X", "tune_configs/mine.yaml: key 'frames' must be a number for X"),
    ],
)
def test_a_file_that_is_wrong_is_named(capsys, monkeypatch, tmp_path, frames, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tune_configs").mkdir()
    env = "" if "env" in frames else "\nenv: Y"
    text = f"experiment: x\nmethod: ride\nseed: 1\n{frames}{env}\n"
    (tmp_path / "tune_configs" / "mine.yaml").write_text(text)

    assert main(["list", "experiments"]) == 2

    error = capsys.readouterr().err
    assert error.startswith(message) and error.count("\n") == 1


def test_where_there_are_none_that_is_said(capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(rllib_ride, "__file__", str(tmp_path / "site" / "rllib_ride" / "x.py"))

    assert main(["list", "experiments", "--json"]) == 2

    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("no experiments: neither tune_configs/ here nor ")
    assert "pip install -e" in captured.err
