"""W&B: what its files contain offline, and what goes over the network online."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from helpers.trials import TRIAL, Tune, result
from helpers.wandb_log import WandbLog, read_log
from helpers.wandb_server import wandb_server
from rllib_ride.experiments.curve import CurveCallback, read_curve
from rllib_ride.experiments.errors import ConfigError
from rllib_ride.experiments.wandb import log_figures, wandb_callbacks

wandb = pytest.importorskip("wandb", reason="needs the extra rllib-ride[wandb]")

KEY = "0123456789abcdef0123456789abcdef01234567"


def started(folder: Path, mode: str = "offline", *, artifacts: bool = False) -> Tune:
    """A started trial, with the callbacks in Tune's order: the curve's before W&B's."""
    folder.mkdir(exist_ok=True)
    (folder / "run.json").write_text(json.dumps({**TRIAL.to_dict(), "versions": {"ray": "2"}}))
    return Tune(folder, CurveCallback(), *wandb_callbacks(mode, "x", artifacts=artifacts))


def logs(folder: Path) -> list[WandbLog]:
    wandb.teardown()  # waits for W&B's service process, which writes the files
    return [read_log(path) for path in sorted(folder.rglob("run-*.wandb"))]


def steps(log: WandbLog) -> list[int]:
    return [step for step, _ in log.rows]


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("WANDB_API_KEY", KEY)
    # A closed port: an attempt to reach the network would fail, and not just go unnoticed.
    monkeypatch.setenv("WANDB_BASE_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("WANDB_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("WANDB_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("WANDB_CONFIG_DIR", str(tmp_path / "config"))


def test_offline_files_hold_a_key_a_metric_over_frames(tmp_path: Path) -> None:
    folder = tmp_path / "trial"
    saved = folder / "checkpoint_000000"
    tune = started(folder, artifacts=True)
    saved.mkdir()
    (saved / "weights").write_text("w")
    tune.start()
    tune.report(200)
    tune.report(400, should_checkpoint=True, mean=0.25)
    tune.trial.checkpoint = SimpleNamespace(path=str(saved))
    tune.call("on_trial_complete")
    tune.end()

    (log,) = logs(folder)
    assert (log.project, log.name) == ("x", "ride_Empty-5x5_seed7")
    assert (log.group, log.job_type) == ("Empty-5x5 ride", "train")
    assert log.config["seed"] == 7 and log.config["versions"] == {"ray": "2"}
    assert steps(log) == [200, 400]
    values = log.rows[-1][1]
    own = {name: value for name, value in values.items() if not name.startswith("_")}
    assert own == {
        **{"frames": 400, "wall_s": 4, "episodes": 40, "return_mean": 0.25, "return_std": 0},
        **{"length_mean": 10, "intrinsic_reward_mean": 0.125, "fps": 100},
        **{"policy/total_loss": 3.5, "policy/policy_loss": -0.5, "policy/value_loss": 2},
        **{"policy/entropy": 1.5, "intrinsic/inverse_loss": 1.75},
        **{"learning_rate/policy": 1e-4, "learning_rate/embedding": 2e-4},
        **{"gradient_norm/policy": 7, "gradient_norm/embedding": 9},
    }
    assert log.artifacts == [f"checkpoint-{log.id}"]
    assert "run.json" in log.files
    for path in folder.rglob("*"):
        assert not path.is_file() or KEY.encode() not in path.read_bytes(), path


def test_a_resumed_run_has_no_step_twice_and_none_missing(tmp_path: Path) -> None:
    before = started(tmp_path / "trial")
    before.start()
    before.report(200, should_checkpoint=True)
    before.report(400)
    before.end()

    after = started(tmp_path / "trial")
    after.start(checkpoint=result(200, 2.0))
    after.report(390)
    after.report(590, should_checkpoint=True)
    after.end()

    first, second = logs(tmp_path / "trial")
    assert first.id == second.id
    assert (steps(first), steps(second)) == ([200], [390, 590])
    curve = read_curve(tmp_path / "trial" / "curve.csv")
    assert [int(row["frames"]) for row in curve] == [200, 390, 590]


def test_what_a_kill_cut_off_is_logged_by_the_resumed_run(tmp_path: Path) -> None:
    folder = tmp_path / "trial"
    killed = started(folder)
    killed.start()
    killed.report(200, should_checkpoint=True)
    killed.report(400, should_checkpoint=True)
    with (folder / "result.json").open("w") as file:  # as Tune's logger does
        for frames in (200, 400):
            file.write(json.dumps(result(frames, frames / 100)) + "\n")
        file.write('{"frames": 6')
    wandb.teardown()  # without ending the run

    after = started(folder)
    after.start(checkpoint=result(400, 4.0))
    after.report(600, should_checkpoint=True)
    after.end()

    (log,) = logs(folder)
    assert steps(log) == [200, 400, 600]
    assert [values["policy/entropy"] for _, values in log.rows] == [1.5, 1.5, 1.5]


def test_a_trial_that_is_tried_again_goes_on_in_the_same_run(tmp_path: Path) -> None:
    tune = started(tmp_path / "trial")
    tune.start()
    tune.report(200, should_checkpoint=True)
    tune.report(400)
    tune.start(checkpoint=result(200, 2.0))
    tune.report(410, should_checkpoint=True)
    tune.end()

    (log,) = logs(tmp_path / "trial")
    assert steps(log) == [200, 410]


def test_figures_are_an_artifact_of_a_run_of_their_own(tmp_path: Path) -> None:
    (tmp_path / "curves.png").write_bytes(b"png")
    log_figures([tmp_path / "curves.png"], "offline", "x", tmp_path)

    (log,) = logs(tmp_path)
    assert (log.project, log.job_type, log.artifacts) == ("x", "figures", ["figures"])


def test_online_a_resumed_run_goes_on_where_the_server_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "trial"
    with wandb_server() as server:
        monkeypatch.setenv("WANDB_BASE_URL", server.url)
        before = started(folder, "online")
        before.start()
        before.report(200, should_checkpoint=True)
        before.report(400, should_checkpoint=True)
        before.report(450)
        before.end()

        after = started(folder, "online")
        after.start(checkpoint=result(400, 4.0))
        after.report(600, should_checkpoint=True)
        after.call("on_trial_complete")
        after.end()
        wandb.teardown()

    ((run_id, run),) = server.runs.items()
    assert run["groupName"] == "Empty-5x5 ride" and run["jobType"] == "train"
    assert run["project"] == "x" and run["displayName"] == "ride_Empty-5x5_seed7"
    assert json.loads(run["config"])["seed"]["value"] == 7
    rows = server.rows[run_id]
    assert [row["_step"] for row in rows] == [row["frames"] for row in rows] == [200, 400, 600]
    assert rows[-1]["policy/entropy"] == 1.5
    assert "run.json" in server.files
    assert not any(KEY in post for post in server.posts)


def test_offline_files_of_a_resumed_run_are_synced_into_one_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "trial"
    for checkpoint, frames in ((None, 200), (result(200, 2.0), 390)):
        tune = started(folder)
        tune.start(checkpoint)
        tune.report(frames, should_checkpoint=True)
        tune.end()
    wandb.teardown()
    sessions = [str(path) for path in sorted(folder.glob("wandb/offline-run-*"))]
    with wandb_server() as server:
        monkeypatch.setenv("WANDB_BASE_URL", server.url)
        command = [sys.executable, "-m", "wandb", "sync", *sessions]
        done = subprocess.run(
            command,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=60,  # it leaves a log
        )

    assert done.returncode == 0, done.stderr
    (rows,) = server.rows.values()
    assert [row["frames"] for row in rows] == [row["_step"] for row in rows] == [200, 390]


@pytest.mark.parametrize("key", [None, KEY])
def test_online_without_a_login_that_is_good_is_refused_before_anything_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: str | None
) -> None:
    wandb.teardown()
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    monkeypatch.delenv("WANDB_API_KEY")
    if key:
        monkeypatch.setenv("WANDB_API_KEY", key)
    with pytest.raises(ConfigError) as error:
        wandb_callbacks("online", "x")
    wandb.teardown()
    told = "--wandb online: " if key else "--wandb online: nobody is logged in to "
    assert str(error.value).startswith(told)
    assert "http://127.0.0.1:9" in str(error.value)
    assert "`wandb login`" in str(error.value) and "--wandb offline" in str(error.value)
    assert KEY not in str(error.value)


ASK_AGAIN_AND_AGAIN = """
import wandb
from rllib_ride.experiments.errors import ConfigError
from rllib_ride.experiments.wandb import wandb_callbacks

for _ in range(30):
    try:
        wandb_callbacks("online", "x")
    except ConfigError as error:
        print(error, flush=True)
        wandb.teardown()  # as the end of a process does
"""


@pytest.mark.slow
def test_no_process_waits_for_ever_where_no_server_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With W&B's own `login` and `teardown`, one in twenty did."""
    monkeypatch.setenv("WANDB_HTTP_TIMEOUT", "1")
    command = [sys.executable, "-c", ASK_AGAIN_AND_AGAIN]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    refusals = done.stdout.splitlines()
    assert len(refusals) == 30
    assert all(line.startswith("--wandb online: ") for line in refusals)


def test_a_login_in_netrc_is_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wandb.teardown()
    monkeypatch.delenv("WANDB_API_KEY")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    with wandb_server() as server:
        monkeypatch.setenv("WANDB_BASE_URL", server.url)
        host = server.url.removeprefix("http://")
        (tmp_path / "netrc").write_text(f"machine {host}\n  login user\n  password {KEY}\n")
        assert len(wandb_callbacks("online", "x")) == 1
        wandb.teardown()


def test_a_server_that_is_gone_when_a_trial_starts_does_not_end_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "trial"
    with wandb_server() as server:
        monkeypatch.setenv("WANDB_BASE_URL", server.url)
        tune = started(folder, "online")

    def unreachable(**options: Any) -> None:
        raise wandb.errors.CommError("no route to host")

    with monkeypatch.context() as patch:
        patch.setattr(wandb, "init", unreachable)
        tune.start()
    tune.report(200, should_checkpoint=True)
    tune.call("on_trial_complete")
    tune.end()
    wandb.teardown()
    told = capsys.readouterr().err
    assert f"{TRIAL.name} is not logged to W&B before it is resumed: no route to host" in told
    assert [row["frames"] for row in read_curve(folder / "curve.csv")] == ["200"]
