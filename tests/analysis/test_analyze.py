"""`rllib-ride analyze`, from checkpoints to files, and what it refuses."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path

import pytest
from PIL import Image
from ray.rllib.algorithms.ppo import PPOConfig

from helpers.checkpoints import write_untrained
from rllib_ride.analysis.analyze import labels_of
from rllib_ride.cli import main

ENV = "MiniGrid-MultiRoom-N2-S4-v0"  # of the fixture `checkpoints`
PICTURES = ["episode.gif", "episode.png", "intrinsic.png", "intrinsic.svg"]
TABLES = ["actions.csv", "actions.md"]
VISITS = ["visits.png", "visits.svg"]


def test_one_checkpoint_gives_all_files_and_the_same_numbers_in_each(checkpoints, tmp_path, capsys):
    out = tmp_path / "new" / "out"
    argv = ["analyze", str(checkpoints["ride_full"]), "--out", str(out), "--episodes", "6"]
    assert main([*argv, "--seed", "3", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)

    names = sorted([*PICTURES, *TABLES, *VISITS])
    assert sorted(path.name for path in out.iterdir()) == names
    assert sorted(Path(path).name for path in told["files"]) == names
    assert (told["env"], told["seed"], told["episodes"], told["rooms"]) == (ENV, 3, 6, 2)
    (checkpoint,) = told["checkpoints"]
    assert checkpoint["method"] == checkpoint["label"] == "ride"
    assert 1 <= checkpoint["rooms_mean"] <= checkpoint["rooms_max"] <= 2

    rows = list(csv.DictReader((out / "actions.csv").open()))
    assert [row["action"] for row in rows] == [
        "Open Door",
        "Turn Left / Right",
        "Move Forward",
        "Other",
    ]
    for row, same in zip(rows, told["actions"], strict=True):
        assert int(row["count"]) == same["count"] and row["paper_mean"] == ""
        if same["mean"] is not None:
            assert float(row["mean"]) == pytest.approx(same["mean"])
    assert sum(int(row["count"]) for row in rows) == sum(k["count"] for k in told["kinds"])
    turns = next(row for row in told["actions"] if row["action"].startswith("Turn"))
    assert turns["count"] > 0 and f"{turns['mean']:.4f}" in (out / "actions.md").read_text()
    for name in ("visits.png", "intrinsic.png", "episode.png"):
        with Image.open(out / name) as picture:
            assert min(picture.size) > 300


def test_several_checkpoints_have_a_panel_each_and_none_has_visits_alone(
    checkpoints, tmp_path, capsys
):
    paths = [str(checkpoints[name]) for name in ("none_full", "ride_view", "ride_full")]

    assert main(["analyze", *paths, "--out", str(tmp_path), "--episodes", "2", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)

    rides = ["ride (ride_view_seed1)", "ride (ride_full_seed1)"]
    assert [c["label"] for c in told["checkpoints"]] == [*sorted(rides), "none"]
    assert {row["label"] for row in told["actions"]} == set(rides)
    assert sorted(path.name for path in tmp_path.glob("*.gif")) == [
        "episode_ride_ride_full_seed1.gif",
        "episode_ride_ride_view_seed1.gif",
    ]


def test_without_any_bonus_there_are_visits_and_rooms(checkpoints, tmp_path, capsys):
    argv = ["analyze", str(checkpoints["none_full"]), "--out", str(tmp_path), "--episodes", "2"]

    assert main(argv) == 0

    assert sorted(path.name for path in tmp_path.iterdir()) == VISITS
    assert "rooms_max" in capsys.readouterr().out


def test_the_level_is_by_default_the_one_it_was_trained_on(ray_session, tmp_path, capsys):
    singleton = write_untrained(tmp_path / "c", "none", ENV, {"singleton_seed": 11})
    argv = ["analyze", str(singleton), "--out", str(tmp_path / "o"), "--episodes", "1", "--json"]
    for more, seed in (([], 11), (["--seed", "0"], 0)):
        assert main([*argv, *more]) == 0
        assert json.loads(capsys.readouterr().out)["seed"] == seed


def test_labels_say_as_much_as_is_needed():
    paths = [Path(p) for p in ("a/x/1", "b/x/1", "b/y/1", "b/y/2", "c/z/1")]
    assert labels_of(paths, ["ride"] * 4 + ["icm"]) == [
        "ride (a/x/1)",
        "ride (b/x/1)",
        "ride (y/1)",
        "ride (y/2)",
        "icm",
    ]
    assert labels_of(paths[1:3], ["ride", "ride"]) == ["ride (x)", "ride (y)"]


@pytest.fixture(scope="module")
def others(checkpoints, tmp_path_factory):
    """Folders that cannot be analysed, by what is wrong with them."""
    folder = tmp_path_factory.mktemp("others")
    (folder / "empty").mkdir()
    (folder / "foreign").mkdir()
    (folder / "foreign" / "notes.txt").write_text("no checkpoint")
    (folder / "file").write_text("no folder")
    for part, name in (
        ("algorithm_state.pkl", "no_state"),
        ("class_and_ctor_args.pkl", "no_config"),
        ("learner_group/learner/rl_module/intrinsic/module_state.pkl", "no_weights"),
        ("learner_group/learner/rl_module/default_policy/module_state.pkl", "no_policy"),
    ):
        shutil.copytree(checkpoints["ride_full"], folder / name)
        (folder / name / part).unlink()
    cut = folder / "cut_short" / "learner_group/learner/rl_module/intrinsic/module_state.pkl"
    shutil.copytree(checkpoints["ride_full"], folder / "cut_short")
    cut.write_bytes(cut.read_bytes()[:1000])
    write_untrained(folder / "elsewhere", "ride", "MiniGrid-MultiRoom-N4-S5-v1")
    write_untrained(folder / "three_actions", "none", "MiniGrid-Dynamic-Obstacles-5x5-v0")
    config = PPOConfig().environment("CartPole-v1").learners(num_learners=0)
    algo = config.env_runners(num_env_runners=0).build_algo()
    algo.save_to_path(str(folder / "no_level"))
    algo.stop()
    return folder


@pytest.mark.parametrize(
    ("names", "more", "message"),
    [
        (["empty"], [], "empty: no checkpoint of a trial or RLlib algorithm"),
        (["foreign"], [], "foreign: no checkpoint of a trial or RLlib algorithm"),
        (["file"], [], "file: no checkpoint of a trial or RLlib algorithm"),
        (["missing"], [], "missing: no checkpoint of a trial or RLlib algorithm"),
        (["ride", "missing"], [], "missing: no checkpoint of a trial or RLlib algorithm"),
        (["."], [], "; did you mean"),
        (["no_state"], [], "no_state: not a whole checkpoint: "),
        (["no_config"], [], "no_config: not a whole checkpoint: "),
        (["no_policy"], [], "no_policy: not a whole checkpoint: "),
        (["no_weights"], [], "no_weights: its intrinsic networks cannot be loaded: "),
        (["cut_short"], [], "cut_short: its intrinsic networks cannot be loaded: "),
        (["no_level"], [], "CartPole-v1 is no MiniGrid environment: it has no level to draw"),
        (["ride", "ride"], [], " is given 2 times, expected each checkpoint once"),
        (["ride", "elsewhere"], [], "elsewhere was trained in MiniGrid-MultiRoom-N4-S5-v1, and "),
        (["three_actions"], ["--env", ENV], "has the action space Discrete(7); the policy was"),
        (["ride"], ["--env", "CartPole-v1"], "CartPole-v1 has the observation space"),
        (["ride"], ["--env", "MiniGrid-MultiRoom-N7-S5-v0"], "did you mean 'MiniGrid-MultiRoom-N"),
        (["ride"], ["--episodes", "0"], "argument --episodes: must be a positive whole number"),
        (["ride"], ["--seed", "-1"], "argument --seed: must be a whole number of at least 0"),
        (["ride"], ["--out", "occupied"], "/occupied is no folder that can be written to"),
        (["ride"], ["--out", "occupied/new"], "/occupied is no folder that can be written to"),
    ],
)
def test_bad_input_is_told_in_one_message_and_nothing_is_written(
    checkpoints, others, tmp_path, monkeypatch, capsys, names, more, message
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "occupied").write_text("")
    known = {"ride": checkpoints["ride_full"], ".": checkpoints["ride_full"].parent}
    paths = [str(known.get(name, others / name)) for name in names]

    assert main(["analyze", *paths, "--out", "out", *more]) == 2

    told = capsys.readouterr()
    assert message in told.err and "Traceback" not in told.err
    assert told.out == ""
    assert [path.name for path in tmp_path.iterdir()] == ["occupied"]
