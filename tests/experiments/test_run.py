"""Real runs, in processes of their own as a user starts them."""

from __future__ import annotations

import json
import os
import signal
import time
from pathlib import Path

import pytest

from helpers.command import command, start
from helpers.faulty_env import ENV_ID as FAULTY
from rllib_ride.cli import main
from rllib_ride.experiments.curve import read_curve

EXPERIMENT = """
experiment: tiny
env: {env}
method: ride
preset: tuned
seed: 5
frames: {frames}
checkpoint_every_s: 1
config:
  num_envs_per_env_runner: 2
  rollout_fragment_length: 16
  train_batch_size_per_learner: 32
  min_time_s_per_iteration: 0.5
"""


def write(folder: Path, env: str, frames: int) -> None:
    (folder / "tiny.yaml").write_text(EXPERIMENT.format(env=env, frames=frames))


def wait_for(condition, process) -> None:
    """Waits until `condition()` holds; fails where the process ends before."""
    until = time.monotonic() + 120
    while not condition():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < until, "nothing happened for two minutes"
        time.sleep(0.1)


@pytest.fixture(scope="module")
def interrupted(tmp_path_factory):
    """A run stopped by Ctrl-C after a checkpoint, then killed, then brought to its end.

    Gives its folder, and (exit code, stderr, curve) after each of the three.
    """
    folder = tmp_path_factory.mktemp("interrupted")
    write(folder, "MiniGrid-Empty-5x5-v0", frames=12_000)
    trial = folder / "runs" / "tiny" / "ride_Empty-5x5_seed5"
    curve = trial / "curve.csv"
    told = []

    def checkpoints() -> int:
        """Number of the newest checkpoint, or -1."""
        return max((int(path.name[-6:]) for path in trial.glob("checkpoint_*")), default=-1)

    process = start("run", "tiny.yaml", folder=folder)
    wait_for(lambda: checkpoints() >= 1, process)
    length = len(read_curve(curve))
    wait_for(lambda: len(read_curve(curve)) > length, process)
    os.killpg(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=120)
    told.append((process.returncode, err, read_curve(curve)))

    newest = checkpoints()
    process = start("run", "tiny.yaml", "--resume", folder=folder)
    wait_for(lambda: checkpoints() >= newest + 1, process)
    os.killpg(process.pid, signal.SIGKILL)
    _, err = process.communicate(timeout=120)
    told.append((process.returncode, err, read_curve(curve)))

    code, _, err = command("run", "tiny.yaml", "--resume", folder=folder)
    told.append((code, err, read_curve(curve)))
    return folder, told


def test_ctrl_c_ends_with_130_and_the_command_that_goes_on(interrupted):
    _, [(code, err, _), *_] = interrupted

    assert code == 130, err
    assert err.splitlines()[-1] == ("interrupted; go on with: rllib-ride run tiny.yaml --resume")
    assert "Traceback" not in err


def test_a_resumed_run_goes_on_from_its_checkpoint_with_one_curve(interrupted):
    _, [(_, _, first), (_, _, second), (code, err, last)] = interrupted

    assert code == 0, err
    frames = [int(row["frames"]) for row in last]
    assert frames == sorted(set(frames))
    assert frames[-1] >= 12_000
    wall_s = [float(row["wall_s"]) for row in last]
    assert wall_s == sorted(set(wall_s))
    # It did not begin again: what each curve had up to a checkpoint is still there.
    assert last[0] == second[0] == first[0]
    kept = [row for row in first if row in last]
    assert len(kept) >= 2
    assert int(second[-1]["frames"]) > int(kept[-1]["frames"])


def test_a_finished_run_is_told_to_be_finished_and_stays_as_it_is(interrupted):
    folder, [*_, (_, _, curve)] = interrupted

    code, out, err = command("run", "tiny.yaml", "--resume", "--json", folder=folder)

    assert code == 0, err
    assert f"finished: {folder / 'runs' / 'tiny'}" in err
    (trial,) = json.loads(out)["trials"]
    assert trial["state"] == "done"
    assert trial["frames"] == int(curve[-1]["frames"])
    assert all(Path(path).exists() for path in json.loads(out)["files"])
    assert "episode.png" in [Path(path).name for path in json.loads(out)["files"]]
    assert read_curve(folder / "runs" / "tiny" / trial["trial"] / "curve.csv") == curve


def test_the_record_says_what_the_trial_was(interrupted):
    folder, _ = interrupted
    record = json.loads((folder / "runs/tiny/ride_Empty-5x5_seed5/run.json").read_text())

    assert record["method"] == "ride"
    assert record["env"] == "MiniGrid-Empty-5x5-v0"
    assert (record["seed"], record["preset"], record["frames"]) == (5, "tuned", 12_000)
    assert record["policy_sees"] == record["bonus_sees"] == "Box(0, 255, (7, 7, 3), uint8)"
    assert record["counts_see"].startswith("the full grid")
    assert record["config"]["num_envs_per_env_runner"] == 2
    assert record["config"]["gamma"] == 0.99
    assert record["versions"]["ray"].startswith("2.")
    assert len((record["git_commit"] or "0" * 40).removesuffix("-dirty")) == 40
    assert " at 0x" not in json.dumps(record)


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
        "frames_trained",
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


def test_a_trial_that_fails_is_told_in_short_with_the_file_that_has_it_all(tmp_path):
    write(tmp_path, FAULTY, frames=12_000)

    code, out, err = command("run", "tiny.yaml", "--json", folder=tmp_path)

    assert code == 1, err
    (trial,) = json.loads(out)["trials"]
    assert trial["state"] == "failed"
    assert trial["error"] == "RuntimeError: the door fell off"
    assert f"{trial['trial']} failed: RuntimeError: the door fell off" in err
    assert "Traceback" not in err
    log = tmp_path / "runs" / "tiny" / trial["trial"] / "error.txt"
    assert str(log) in err
    assert "the door fell off" in log.read_text()
