"""`python FILE.yaml` on a head: the shim on its PATH, and what it runs."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from rllib_ride import cli
from rllib_ride.experiments.submitted import main, placed

CLONE = Path(__file__).parents[2]


@pytest.fixture
def checkout(tmp_path):
    folder = tmp_path / "rllib-ride"
    (folder / "tune_configs").mkdir(parents=True)
    (folder / "tune_configs" / "x.yaml").write_text("old")
    return folder


def test_a_submitted_file_is_run_from_among_the_files_it_may_name(tmp_path, checkout):
    (tmp_path / "x.yaml").write_text("new")

    there = placed(tmp_path / "x.yaml", checkout)

    assert there == checkout / "tune_configs" / "x.yaml"
    assert there.read_text() == "new"
    assert (tmp_path / "x.yaml").read_text() == "new"


def test_a_file_of_the_checkout_is_run_where_it_is(checkout):
    inside = checkout / "tune_configs" / "x.yaml"

    assert placed(inside, checkout) == inside
    assert inside.read_text() == "old"


def test_a_file_that_is_not_there_is_told_by_the_name_that_was_typed(tmp_path, checkout):
    assert placed(tmp_path / "y.yaml", checkout) == tmp_path / "y.yaml"
    assert not (checkout / "tune_configs" / "y.yaml").exists()


def test_it_is_run_on_the_cluster_with_the_options_that_were_given(tmp_path, checkout, monkeypatch):
    (tmp_path / "x.yaml").write_text("new")
    asked = []
    monkeypatch.setattr(cli, "main", lambda argv: asked.append(argv) or 3)

    assert main([str(tmp_path / "x.yaml"), "--method", "ride", "--resume"], checkout) == 3

    there = str(checkout / "tune_configs" / "x.yaml")
    assert asked == [["run", there, "--address", "auto", "--method", "ride", "--resume"]]


@pytest.mark.parametrize(
    ("typed", "handed_on"),
    [
        (
            ["/h/x.yaml", "--set", "a=b c"],
            "-m rllib_ride.experiments.submitted /h/x.yaml --set a=b c",
        ),
        (["x.yml"], "-m rllib_ride.experiments.submitted x.yml"),
        (["-c", "print(1)"], "-c print(1)"),
        (["script.py", "x.yaml"], "script.py x.yaml"),
        ([], ""),
    ],
)
def test_the_python_of_a_head_takes_a_yaml_and_leaves_all_else_to_python(
    tmp_path, typed, handed_on
):
    real = tmp_path / "rllib-ride-venv" / "bin" / "python"
    real.parent.mkdir(parents=True)
    real.write_text('#!/bin/sh\necho "$*"\n')
    real.chmod(0o755)
    path = f"{CLONE / 'tools/cluster'}{os.pathsep}{os.environ['PATH']}"

    told = subprocess.run(
        ["python", *typed],
        env={**os.environ, "HOME": str(tmp_path), "PATH": path},
        capture_output=True,
        text=True,
        check=True,
    )

    assert told.stdout == handed_on + "\n"
