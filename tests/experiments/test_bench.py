"""`rllib-ride bench`: its JSON document, what it counts, what it refuses."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

import rllib_ride
from helpers.command import command
from rllib_ride.cli import main
from rllib_ride.experiments.bench import figures
from rllib_ride.experiments.bench.hand_loop import run_hand_loop
from rllib_ride.experiments.bench.learner import TimedLearner, Trained
from rllib_ride.experiments.bench.memory import psutil, resident_mb
from rllib_ride.experiments.bench.train import Measurement, TrialRate
from rllib_ride.experiments.build import algorithm_class, algorithm_config
from rllib_ride.experiments.schema import ExperimentSpec
from rllib_ride.experiments.trial import expand
from rllib_ride.machine import num_cores

EMPTY = "MiniGrid-Empty-5x5-v0"
SMALL = {
    "num_envs_per_env_runner": 3,
    "rollout_fragment_length": 20,
    "train_batch_size_per_learner": 60,
    "min_time_s_per_iteration": 0.3,
}


def _trials(num: int = 1, *, method: str = "ride", **settings: object) -> list:
    spec = ExperimentSpec(
        experiment="bench", env=EMPTY, method=method, seed=[*range(1, num + 1)], frames=1e6
    )
    return expand(spec, overrides={**SMALL, **settings})


@pytest.mark.parametrize("num_trials", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_the_document(tmp_path, monkeypatch, num_trials):
    monkeypatch.setenv("HOME", str(tmp_path))
    settings = [f"--set={key}={value}" for key, value in SMALL.items()]

    code, out, err = command(
        *(
            "bench",
            "--seconds",
            "1",
            "--env",
            EMPTY,
            "--trials",
            str(num_trials),
            "--json",
            *settings,
        ),
        folder=tmp_path,
    )

    assert code == 0, err
    told = json.loads(out)
    assert (told["method"], told["env"], told["preset"]) == ("ride", EMPTY, "paper")
    assert told["cores"] == num_cores()
    assert {"rllib-ride", "ray", "torch", "python"} <= told["versions"].keys()
    beside = int(num_trials == 1 and num_cores() > 1)  # a single trial has an EnvRunner beside it
    assert told["settings"] == {"num_env_runners": beside, **SMALL}
    assert told["fps"] > 0
    assert len(told["trials"]) == num_trials
    for trial in told["trials"]:
        assert trial["fps"] == pytest.approx(trial["frames"] / trial["seconds"])
        assert trial["seconds"] > 0.5
    assert told["fps"] == pytest.approx(sum(trial["fps"] for trial in told["trials"]))
    # All samples are trained on, except those in flight when the window begins or ends.
    assert told["fps_sampled"] == pytest.approx(told["fps"], rel=0.5)
    assert told["stages"].keys() == {"env", "inference", "learner"}
    # The whole is at most as fast as its parts, run one after the other, on all cores.
    whole = told["cores"] / sum(1 / rate for rate in told["stages"].values())
    assert whole > told["fps"] / 2
    assert told["bytes_per_frame"] > 7 * 7 * 3
    assert 1 < told["time_to_first_update_s"] < 180
    assert 300 < told["peak_rss_mb"] < 20_000
    left = [path for path in tmp_path.rglob("*") if path.is_file() and "ray_results" in str(path)]
    assert not left


@pytest.mark.parametrize("learning", [{}, {"num_epochs": 2, "minibatch_size": 20}])
def test_frames_trained_are_transitions_that_the_loss_saw(ray_session, learning):
    config = algorithm_config(_trials(min_time_s_per_iteration=0, **learning)[0])
    config.learners(learner_class=TimedLearner)
    algo = algorithm_class(config)(config=config)
    try:
        first, second = algo.train(), algo.train()
        trained = Trained.of(first), Trained.of(second)
        assert trained[0] is not None and trained[1] is not None

        epochs = learning.get("num_epochs", 1)
        for result, of in zip((first, second), trained, strict=True):
            # Without EnvRunner actors, all samples are trained on at once.
            assert of.frames == epochs * result["num_env_steps_sampled_lifetime"]
        steps = second["learners"]["default_policy"]["num_module_steps_trained_lifetime"]
        assert steps > trained[1].frames  # it counts bootstrap steps too
        if not learning:
            by_rllib = second["learners"]["__all_modules__"]["num_env_steps_trained_lifetime"]
            assert trained[1].frames == by_rllib
        assert trained[0].first_update_at == trained[1].first_update_at
        assert trained[0].last_update_at < trained[1].last_update_at
    finally:
        algo.stop()


def test_before_an_update_nothing_is_told():
    assert Trained.of({"num_env_steps_sampled_lifetime": 60}) is None


HOLD = """
import mmap, sys
size = int(sys.argv[1]) * 2**20
memory = mmap.mmap(-1, size, mmap.MAP_SHARED) if sys.argv[2] == "shared" else bytearray(size)
for i in range(0, size, 1024):
    memory[i] = 1
print("held", flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize(("kind", "expected"), [("private", 200), ("shared", 0)])
def test_memory_is_of_all_processes_without_what_they_share(kind, expected):
    def held_by_child(mebibytes: int) -> float:
        command_line = [sys.executable, "-c", HOLD, str(mebibytes), kind]
        before = resident_mb(psutil.Process())
        with subprocess.Popen(
            command_line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as child:
            assert child.stdout is not None
            assert child.stdout.readline() == "held\n"
            found = resident_mb(psutil.Process(child.pid))
            # A parent's memory includes its children's.
            assert resident_mb(psutil.Process()) - before == pytest.approx(found, abs=20)
            child.communicate()
        return found

    assert held_by_child(220) - held_by_child(20) == pytest.approx(expected, abs=10)


BAD_OPTIONS = [
    (["--seconds", "0"], "argument --seconds: must be a positive number, not '0'"),
    (["--seconds", "long"], "argument --seconds: must be a positive number, not 'long'"),
    (["--trials", "0"], "must be a positive whole number, not '0'"),
    (["--method", "rid"], "method 'rid' is unknown; did you mean 'ride'?"),
    (["--env", "MiniGrid-Empty-5x5-v9"], "environment 'MiniGrid-Empty-5x5-v9' is unknown; did you"),
    (["--preset", "papr"], "preset 'papr' is unknown; did you mean 'paper'?"),
    (["--set", "num_env_runers=2"], "did you mean 'config.num_env_runners'?"),
    (["--set", "num_env_runners=-1"], "key 'config.num_env_runners' must be at least 0, not -1"),
    (["--preset", "tuned_ppo"], "bench measures IMPALA, and 'tuned_ppo' with these"),
    (["--env", "CartPole-v1"], "the network of the presets, needs images"),
    (["--compare", "--env", "CartPole-v1"], "which has MiniGrid environments, not 'CartPole-v1'"),
    (["--compare", "--method", "icm"], "which has the methods ride and none, not 'icm'"),
]


@pytest.mark.parametrize(("options", "message"), BAD_OPTIONS)
def test_bad_options_are_refused_in_one_message(tmp_path, monkeypatch, capsys, options, message):
    monkeypatch.chdir(tmp_path)

    assert main(["bench", *options]) == 2

    said = capsys.readouterr()
    assert message in said.err and not said.out
    assert "Traceback" not in said.err
    assert not [*tmp_path.iterdir()]


def test_to_compare_takes_a_clone(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(rllib_ride, "__file__", str(tmp_path / "rllib_ride" / "__init__.py"))

    assert main(["bench", "--compare"]) == 2

    assert str(Path("benchmarks") / "hand_loop.py") in capsys.readouterr().err


def test_ratios_are_to_the_same_trials_without_a_bonus_and_to_the_hand_loop(monkeypatch):
    asked = {}

    def train(trials, seconds):
        asked["none"] = [(trial.method, trial.seed, seconds) for trial in trials]
        return Measurement([TrialRate(500.0, 0.0, 0, 0.0, 0.0)] * len(trials), 0.0, 0.0)

    def hand_loop(**options):
        asked["hand"] = options
        return {"fps": 1600.0}

    monkeypatch.setattr(figures, "train", train)
    monkeypatch.setattr(figures, "local_ray", lambda trials: contextlib.nullcontext())
    monkeypatch.setattr(figures, "run_hand_loop", hand_loop)

    told = figures.compare(_trials(2), 7.0, fps=800.0)

    assert told == {
        "none_fps": 1000.0,
        "ride_over_none": 0.8,
        "hand_loop_fps": 1600.0,
        "over_hand_loop": 0.5,
    }
    assert asked["none"] == [("none", 1, 7.0), ("none", 2, 7.0)]
    assert asked["hand"] == {
        "seconds": 7.0,
        "method": "ride",
        "env": EMPTY,
        "num_envs": 3,
        "unroll_length": 20,
    }
    assert "ride_over_none" not in figures.compare(_trials(method="none"), 7.0, fps=800.0)


def test_the_hand_loop_runs_as_asked():
    told = run_hand_loop(seconds=0.01, method="none", env=EMPTY, num_envs=3, unroll_length=20)

    assert told["fps"] > 0
    assert (told["env"], told["method"]) == (EMPTY, "none")
    assert (told["num_envs"], told["unroll_length"]) == (3, 20)
    assert 0 < told["frames"] <= told["updates"] * 3 * 20


def test_a_hand_loop_that_fails_is_told():
    with pytest.raises(RuntimeError, match=r"hand_loop.py failed: .*No-Such"):
        run_hand_loop(seconds=1, method="ride", env="No-Such-v0", num_envs=1, unroll_length=2)


MEASURED = {
    "fps": 12345.6,
    "fps_sampled": 12500.0,
    "bytes_per_frame": 187.2,
    "stages": {"env": 120000.0, "inference": 40000.0, "learner": 20000.0},
    "peak_rss_mb": 1800.0,
    "time_to_first_update_s": 11.5,
    "cores": 2,
    "method": "ride",
    "env": EMPTY,
    "settings": {"num_env_runners": 0},
    "trials": [{"fps": 6000.0}, {"fps": 6345.6}],
}


def test_the_table(monkeypatch, capsys):
    ratios = {"ride_over_none": 0.8, "none_fps": 15432.0}
    monkeypatch.setattr(figures, "bench", lambda *args, **kwargs: {**MEASURED})
    monkeypatch.setattr(figures, "compare", lambda *args: ratios)

    assert main(["bench", "--env", EMPTY, "--compare"]) == 0

    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"ride on {EMPTY}, 2 cores: num_env_runners 0"
    table = {line.split()[0]: line.split()[1] for line in lines[2:]}
    assert table["fps_sampled"] == "12,500"
    assert table["stages.env"] == "120,000"
    assert table["time_to_first_update_s"] == "11.50"
    assert table["ride_over_none"] == "0.80"
    assert [line.split()[1] for line in lines if line.split()[0] == "fps"] == [
        *("12,346", "6,000", "6,346")
    ]


def test_a_trial_that_fails_ends_in_one_line(monkeypatch, capsys):
    def fail(*args, **kwargs):
        raise RuntimeError("an update failed\nthe door fell off")

    monkeypatch.setattr(figures, "bench", fail)

    assert main(["bench", "--env", EMPTY]) == 1

    said = capsys.readouterr()
    assert said.err.splitlines()[-1] == "bench failed: the door fell off"
    assert not said.out
