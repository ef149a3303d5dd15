"""Real runs in separate processes, as a user starts them."""

from __future__ import annotations

import json
import os
import signal
from importlib.util import find_spec
from pathlib import Path

import pytest
import torch
from ray import tune

from helpers.command import command, start, wait_for
from helpers.event_files import read_events
from helpers.faulty_env import ENV_ID as FAULTY
from helpers.poisoned import METHOD as POISONED
from helpers.processes import tree
from helpers.small_config import SMALL_CONFIG
from rllib_ride.cli import main
from rllib_ride.experiments.curve import read_curve
from rllib_ride.experiments.trainable import TrialTrainable

FRAMES = 12_000
HAS_WANDB = find_spec("wandb") is not None
OPTIONS = ("tiny.yaml", *(("--wandb", "offline") if HAS_WANDB else ()))
EXPERIMENT = (
    """
experiment: tiny
env: {env}
method: ride
preset: tuned
seed: 5
frames: {frames}
checkpoint_every_s: 1
"""
    + SMALL_CONFIG
    + "  min_time_s_per_iteration: 0.5\n"
)


def write(folder: Path, env: str, frames: int) -> None:
    (folder / "tiny.yaml").write_text(EXPERIMENT.format(env=env, frames=frames))


@pytest.fixture(scope="module")
def interrupted(tmp_path_factory):
    """A run in four sessions: stopped by Ctrl-C after a checkpoint; resumed and killed; resumed to
    its end; resumed with more frames.

    Returns its folder, and (exit code, stderr, curve) after each session.
    """
    folder = tmp_path_factory.mktemp("interrupted")
    write(folder, "MiniGrid-Empty-5x5-v0", frames=FRAMES)
    trial = folder / "runs" / "tiny" / "ride_Empty-5x5_seed5"
    curve = trial / "curve.csv"
    told = []

    def checkpoints() -> int:
        """Number of the newest checkpoint, or -1."""
        return max((int(path.name[-6:]) for path in trial.glob("checkpoint_*")), default=-1)

    process = start("run", *OPTIONS, folder=folder)
    wait_for(lambda: checkpoints() >= 1, process)
    length = len(read_curve(curve))
    wait_for(lambda: len(read_curve(curve)) > length, process)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=120)
    told.append((process.returncode, err, read_curve(curve)))

    newest = checkpoints()
    process = start("run", *OPTIONS, "--resume", folder=folder)
    wait_for(lambda: checkpoints() >= newest + 1, process)
    os.killpg(process.pid, signal.SIGKILL)
    _, err = process.communicate(timeout=120)
    told.append((process.returncode, err, read_curve(curve)))

    for more in ([], ["--frames", str(FRAMES + 1000)]):
        code, _, err = command("run", *OPTIONS, "--resume", *more, folder=folder)
        told.append((code, err, read_curve(curve)))
    return folder, told


def assert_rises(curve):
    for column in ("frames", "wall_s", "episodes"):
        values = [float(row[column]) for row in curve]
        assert values == sorted(values)
    for column in ("frames", "wall_s"):
        values = [float(row[column]) for row in curve]
        assert len(set(values)) == len(values)


def test_ctrl_c_ends_with_130_and_the_command_that_goes_on(interrupted):
    folder, [(code, err, _), *_] = interrupted

    assert code == 130, err
    assert f"curves while it trains: tensorboard --logdir {folder / 'runs' / 'tiny'}" in err
    assert err.splitlines()[-2:] == [
        "saving checkpoints; again to end at once",
        f"interrupted; go on with: rllib-ride run {' '.join(OPTIONS)} --resume",
    ]
    assert "Traceback" not in err


def test_ctrl_c_loses_nothing_and_a_kill_what_came_after_the_last_checkpoint(interrupted):
    _, [(_, _, first), (_, _, second), (code, err, third), _] = interrupted

    assert code == 0, err
    assert_rises(third)
    assert int(third[-1]["frames"]) >= FRAMES
    assert second[: len(first)] == first
    assert len(second) > len(first)
    kept = [row for row in second if row in third]
    assert third[: len(kept)] == kept
    # With a checkpoint and a row each second, a kill loses at most two rows.
    assert len(first) < len(kept) and len(second) - len(kept) <= 2


def test_a_finished_run_is_given_more_frames(interrupted):
    _, [*_, (_, _, third), (code, err, fourth)] = interrupted

    assert code == 0, err
    assert_rises(fourth)
    assert fourth[: len(third)] == third
    assert int(fourth[-1]["frames"]) >= FRAMES + 1000


@pytest.mark.skipif(not HAS_WANDB, reason="needs wandb")
def test_weights_and_biases_has_each_row_of_the_curve_once(interrupted):
    from helpers.wandb_log import read_log

    folder, [*_, (_, _, curve)] = interrupted
    logs = sorted((folder / "runs" / "tiny").glob("*/wandb/offline-run-*/run-*.wandb"))
    runs = [read_log(path) for path in logs]

    assert len(runs) == 3  # the third session replaced the log that the kill cut off
    assert len({run.id for run in runs}) == 1
    steps = [step for run in runs for step, _ in run.rows]
    assert steps == [int(row["frames"]) for row in curve]
    logged = [values for run in runs for _, values in run.rows]
    assert [f"{values['return_mean']:.6g}" for values in logged if "return_mean" in values] == [
        row["return_mean"] for row in curve if row["return_mean"]
    ]
    assert {"policy/entropy", "intrinsic/inverse_loss"} < set(logged[-1])


def test_a_finished_run_is_told_to_be_finished_and_stays_as_it_is(interrupted):
    folder, [*_, (_, _, curve)] = interrupted
    more = ("--frames", str(FRAMES + 1000))

    code, out, err = command("run", "tiny.yaml", "--resume", *more, "--json", folder=folder)

    assert code == 0, err
    assert f"finished: {folder / 'runs' / 'tiny'}" in err
    (trial,) = json.loads(out)["trials"]
    assert trial["state"] == "done"
    assert trial["frames"] == int(curve[-1]["frames"])
    assert all(Path(path).exists() for path in json.loads(out)["files"])
    assert "episode.png" in [Path(path).name for path in json.loads(out)["files"]]
    assert read_curve(folder / "runs" / "tiny" / trial["trial"] / "curve.csv") == curve


def test_tune_and_tensorboard_can_read_it(interrupted):
    folder, [*_, (_, _, curve)] = interrupted
    trial = folder / "runs" / "tiny" / "ride_Empty-5x5_seed5"

    results = tune.Tuner.restore(str(trial.parent), TrialTrainable).get_results()
    assert results.num_errors == 0
    best = results.get_best_result("return_mean", "max")
    assert Path(best.path) == trial
    history = best.metrics_dataframe
    assert history["frames"].iloc[-1] == int(curve[-1]["frames"])
    points = [point for path in sorted(trial.glob("events.*")) for point in read_events(path)]
    steps = {step for step, name, _ in points if name == "ray/tune/frames"}
    # The kill may have come before the last point was written.
    assert len({int(row["frames"]) for row in curve} - steps) <= 1
    assert 10 < len({name for _, name, _ in points}) < 40


def test_the_record_says_what_the_trial_was(interrupted):
    folder, _ = interrupted
    record = json.loads((folder / "runs/tiny/ride_Empty-5x5_seed5/run.json").read_text())

    assert record["method"] == "ride"
    assert record["env"] == "MiniGrid-Empty-5x5-v0"
    assert (record["seed"], record["preset"], record["frames"]) == (5, "tuned", FRAMES + 1000)
    assert record["ended"]["why"] == "all frames"
    assert record["ended"]["frames"] >= FRAMES + 1000
    assert record["policy_sees"] == record["bonus_sees"] == "Box(0, 255, (7, 7, 3), uint8)"
    assert record["counts_see"].startswith("the full grid")
    assert record["config"]["num_envs_per_env_runner"] == 2
    assert record["config"]["gamma"] == 0.99
    assert record["versions"]["ray"].startswith("2.")
    assert len((record["git_commit"] or "0" * 40).removesuffix("-dirty")) == 40
    assert " at 0x" not in json.dumps(record)
    assert "resumed" not in record, "by the same code, with the same settings"


def test_its_checkpoint_can_be_evaluated(interrupted, capsys):
    folder, [*_, (_, _, curve)] = interrupted
    trial = folder / "runs" / "tiny" / "ride_Empty-5x5_seed5"
    checkpoint = str(max(trial.glob("checkpoint_*")))

    def scores(*args):
        assert main(["evaluate", checkpoint, "--episodes", "9", "--json", *args]) == 0
        return json.loads(capsys.readouterr().out)

    first = scores("--seed", "3")
    assert list(first) == [
        *("episodes", "return_mean", "return_std", "length_mean", "success_rate"),
        *("states_visited_mean", "frames_trained"),
    ]
    assert first["episodes"] == 9
    assert first["frames_trained"] == int(curve[-1]["frames"])
    assert 0 <= first["success_rate"] <= 1
    assert scores("--seed", "3") == first
    elsewhere = scores("--seed", "3", "--env", "MiniGrid-Empty-8x8-v0")
    assert elsewhere["length_mean"] != first["length_mean"]

    assert main(["evaluate", str(trial)]) == 2
    assert f"did you mean {checkpoint}?" in capsys.readouterr().err
    assert main(["evaluate", checkpoint, "--env", "CartPole-v1"]) == 2
    assert "environment CartPole-v1 has the observation space Box" in capsys.readouterr().err


@pytest.mark.slow
def test_a_killed_trial_is_tried_again_and_ends_when_it_is_solved(tmp_path):
    write(tmp_path, "MiniGrid-Empty-5x5-v0", frames=1_000_000)
    with (tmp_path / "tiny.yaml").open("a") as file:
        file.write("stop_at_return: 0.1\n")
    trial = tmp_path / "runs" / "tiny" / "ride_Empty-5x5_seed5"

    process = start("run", "tiny.yaml", "--json", folder=tmp_path)
    wait_for(lambda: any(trial.glob("checkpoint_*/seal.json")), process)
    first = read_curve(trial / "curve.csv")[0]
    titles = {each: " ".join(each.cmdline()) for each in tree(process.pid)}
    (its_own,) = (each for each in titles if titles[each].startswith("ray::TrialTrainable"))
    its_own.kill()
    out, err = process.communicate(timeout=300)

    assert process.returncode == 0, err
    assert "ride_Empty-5x5_seed5: " in err and "trying again" in err
    (row,) = json.loads(out)["trials"]
    assert (row["state"], row["solved"]) == ("done", True)
    curve = read_curve(trial / "curve.csv")
    assert_rises(curve)
    assert curve[0] == first
    assert float(curve[-1]["return_mean"]) >= 0.1 and float(curve[-1]["episodes"]) >= 100
    assert all(
        float(row["episodes"]) < 100 for row in curve[:-1] if float(row["return_mean"]) > 0.1
    )
    ended = json.loads((trial / "run.json").read_text())["ended"]
    assert ended["why"] == "solved: return 0.1 over 100 episodes"
    assert ended["frames"] == int(curve[-1]["frames"])


@pytest.mark.slow
def test_asha_ends_trials_early_and_the_run_is_done(tmp_path):
    write(tmp_path, "MiniGrid-Empty-5x5-v0", frames=4_000)
    with (tmp_path / "tiny.yaml").open("a") as file:
        file.write("asha: {grace_frames: 1000, reduction_factor: 2}\n")
        file.write("grid: {lr: [0.0, 1e-4, 1e-3, 1e-2]}\n")

    code, out, err = command("run", "tiny.yaml", "--json", folder=tmp_path)

    assert code == 0, err
    states = {row["state"]: row for row in json.loads(out)["trials"]}
    assert set(states) == {"done", "stopped"}
    assert 1000 <= states["stopped"]["frames"] < 4000
    record = tmp_path / "runs" / "tiny" / states["stopped"]["trial"] / "run.json"
    assert json.loads(record.read_text())["ended"]["why"] == "behind other trials (ASHA)"


def test_a_trial_that_fails_is_told_in_short_with_the_file_that_has_it_all(tmp_path):
    write(tmp_path, FAULTY, frames=12_000)

    code, out, err = command("run", "tiny.yaml", "--json", folder=tmp_path)

    assert code == 1, err
    (trial,) = json.loads(out)["trials"]
    assert trial["state"] == "failed"
    told = (
        f"EnvironmentFault: environment {FAULTY}, number 0 of 2, step 5 of its episode: "
        "it raised RuntimeError: the door fell off"
    )
    assert trial["error"] == told
    assert f"{trial['trial']} failed: {told}" in err
    assert "Traceback" not in err
    log = tmp_path / "runs" / "tiny" / trial["trial"] / "error.txt"
    assert str(log) in err
    assert "the door fell off" in log.read_text()


@pytest.mark.parametrize("on_nonfinite", ["stop", "skip"])
def test_a_number_that_is_not_finite_ends_a_trial_at_once_or_is_counted(tmp_path, on_nonfinite):
    write(tmp_path, "MiniGrid-Empty-5x5-v0", frames=400)
    file = tmp_path / "tiny.yaml"
    file.write_text(file.read_text().replace("method: ride", f"method: {POISONED}"))
    settings = {"on_nonfinite": on_nonfinite, "method_config": {"good_batches": 3}}

    code, out, err = command(
        *("run", "tiny.yaml", "--json"),
        *("--set", f"intrinsic={json.dumps(settings)}"),
        folder=tmp_path,
    )

    (row,) = json.loads(out)["trials"]
    trial = tmp_path / "runs" / "tiny" / row["trial"]
    results = [json.loads(line) for line in (trial / "result.json").read_text().splitlines()]
    saved = sorted(trial.glob("nonfinite_*.pt"))
    batch = torch.load(saved[0], weights_only=True)
    assert batch["not_finite"][0] == f"the bonus of method '{POISONED}'"
    if on_nonfinite == "stop":
        assert (code, row["state"]) == (1, "failed"), err
        assert row["error"].startswith(f"NonFiniteError: update {batch['update']} was not applied")
        assert f"its batch is in {saved[0]}; " in row["error"]
        assert row["error"] in err and "trying again" not in err
        assert (trial / "error.txt").read_text().count("Failure #") == 1
        assert len(saved) == 1
        frames = [int(line["frames"]) for line in read_curve(trial / "curve.csv")]
        assert frames == sorted(set(frames))
    else:
        assert (code, row["state"]) == (0, "done"), err
        assert results[-1]["learners"]["default_policy"]["skipped_updates"] > 3
        assert len(saved) == 3
