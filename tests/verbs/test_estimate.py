"""`rllib-ride estimate` as people type it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from helpers.run_folders import curve_text
from rllib_ride.cli import main

TUNE_CONFIGS = Path(__file__).parents[2] / "tune_configs"
ALL = str(TUNE_CONFIGS / "minigrid_all.yaml")
N7S4 = str(TUNE_CONFIGS / "minigrid_multiroom_n7s4.yaml")


def told(capsys, *argv: str) -> dict:
    assert main(["estimate", *argv, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_minigrid_all_on_two_cores_and_on_64_nodes(capsys):
    """At 10,000 frames per second, 30e6 frames take 5/6 h and 100e6 take 25/9 h."""
    small = told(capsys, ALL, "--fps", "1e4", "--cores", "2")
    large = told(capsys, ALL, "--fps", "1e4", "--cores", "2", "--nodes", "64")

    assert (small["experiment"], small["trials"], small["frames"]) == (
        "minigrid_all",
        200,
        11_250_000_000,
    )
    assert small["core_hours"] == large["core_hours"] == pytest.approx(11.25e9 / 1e4 / 3600)
    # One core runs 38 of the 75 long trials, then 61 short ones; the other 37 and 64.
    assert small["wall_hours"] == pytest.approx(38 * 25 / 9 + 61 * 5 / 6)
    # 75 of 128 cores run one long trial each; 53 run the short ones, in three rounds of 5/6 h.
    assert large["wall_hours"] == pytest.approx(25 / 9)
    assert large["core_hours_held"] == pytest.approx(128 * 25 / 9)
    by_env = {part["env"]: part for part in small["by_env"]}
    assert by_env["MiniGrid-MultiRoom-N12-S10-v0"]["share"] == pytest.approx(2500 / 11250)


def test_a_rate_of_one_method_and_a_price(capsys):
    parts = told(
        capsys, N7S4, "--fps", "10e3", "--fps", "none=20e3", "--cores", "1", "--price", "2"
    )

    hours = {part["method"]: part["core_hours"] for part in parts["by_method"]}
    assert hours["ride"] == pytest.approx(5 * 30e6 / 10e3 / 3600)
    assert hours["none"] == pytest.approx(5 * 30e6 / 20e3 / 3600)
    assert parts["cost"]["busy"] == parts["cost"]["held"] == pytest.approx(2 * sum(hours.values()))


def test_narrowed_and_measured(capsys, tmp_path):
    folder = tmp_path / "minigrid_multiroom_n7s4" / "rnd_seed1"
    folder.mkdir(parents=True)
    facts = {"env": "MiniGrid-MultiRoom-N7-S4-v0", "method": "rnd", "preset": "paper"}
    (folder / "run.json").write_text(json.dumps(facts))
    (folder / "curve.csv").write_text(curve_text(frames=[5_000, 10_000], wall_s=[3, 4]))
    narrowed = [N7S4, "--method", "rnd", "--seed", "2", "--cores", "4"]

    parts = told(capsys, *narrowed, "--storage", str(tmp_path))

    assert parts["by_method"][0]["fps"] == pytest.approx(2500)
    assert parts["wall_hours"] == pytest.approx(30e6 / 2500 / 3600)
    assert main(["estimate", N7S4, "--storage", str(tmp_path)]) == 2
    message = capsys.readouterr().err
    assert message.startswith(f"{N7S4}: no rate for ride on MiniGrid-MultiRoom-N7-S4-v0, icm on ")
    assert "rllib-ride bench" in message and message.count("\n") == 1
    (folder.parent / "damaged").mkdir()
    (folder.parent / "damaged" / "run.json").touch()
    assert main(["estimate", *narrowed, "--storage", str(tmp_path)]) == 0
    assert "damaged/run.json: cannot be read, not JSON" in capsys.readouterr().err


def test_as_a_table(capsys):
    assert main(["estimate", N7S4, "--fps", "1e4", "--cores", "5", "--price", "0.04"]) == 0

    lines = capsys.readouterr().out.splitlines()
    cells = dict(re.split(r"  +", line.strip()) for line in lines[1:8])
    assert cells["trials"] == "25"
    assert cells["frames"] == "750,000,000"
    assert cells["core-hours"] == "20.8"
    assert cells["hours on 1 x 5 cores"] == "4.2 (0.2 days)"
    assert cells["cost of core-hours busy"] == "0.83"
    assert lines[-1].split() == ["all", "4.2", "4.2", "4.2", "4.2", "4.2", "20.8", "100%"]


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["--fps", "0"], "argument --fps: must be a positive number, not '0'"),
        (["--fps", "ride=fast"], "argument --fps: must be a positive number, not 'fast'"),
        (["--fps", "rid=5"], "--fps: method 'rid' is unknown; did you mean 'ride'?"),
        (["--fps", "ride=5"], "no rate for icm on MiniGrid-MultiRoom-N7-S4-v0"),
        (["--fps", "5", "--cores", "0"], "argument --cores: must be a positive whole number"),
        (["--fps", "5", "--price", "nan"], "argument --price: must be a positive number"),
    ],
)
def test_bad_input_is_told(capsys, argv, message):
    assert main(["estimate", N7S4, *argv]) == 2

    captured = capsys.readouterr()
    assert message in captured.err and "Traceback" not in captured.err
    assert captured.out == ""
