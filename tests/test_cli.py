"""What people type, and the one message each mistake is answered with."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from rllib_ride.cli import main
from rllib_ride.experiments.schema import load_spec
from rllib_ride.experiments.trial import expand

CLONE = Path(__file__).parents[1]

GOOD = """
experiment: x
env: MiniGrid-Empty-5x5-v0
method: [ride, none]
preset: tuned
seed: [1, 2, 3]
frames: 1e6
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty working directory with `x.yaml`, a good experiment, in it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.yaml").write_text(GOOD)
    return tmp_path


BAD_FILES = [
    ("frames: 1e6", "frmes: 1e6", "x.yaml: key 'frmes' is unknown; did you mean 'frames'?"),
    ("frames: 1e6", "frames: -1e6", "x.yaml: key 'frames' must be a positive whole number"),
    ("seed: [1, 2, 3]", "seed: []", "x.yaml: key 'seed' must name at least one seed, not []"),
    ("seed: [1, 2, 3]", "seed: [1, 2", "x.yaml line 7: expected ',' or ']'"),
    ("seed: [1, 2, 3]", "seed: {a: 1}", "x.yaml: key 'seed' must be a whole number"),
    (
        "MiniGrid-Empty-5x5-v0",
        "MiniGrid-Empty-5x5-v9",
        "x.yaml: environment 'MiniGrid-Empty-5x5-v9' is unknown; did you mean 'MiniGrid-Empty-5x5",
    ),
    (
        "MiniGrid-Empty-5x5-v0",
        "no.such.module:X-v0",
        "x.yaml: environment 'no.such.module:X-v0': No module named 'no'",
    ),
    (
        "[ride, none]",
        "[ride, nome]",
        "x.yaml: method 'nome' is unknown; did you mean 'none'? Known: count, ",
    ),
    (
        "preset: tuned",
        "preset: tunned",
        "x.yaml: preset 'tunned' is unknown; did you mean 'tuned'? Known: paper, released, "
        "tuned, tuned_ppo",
    ),
    (
        "preset: tuned",
        "config: {gama: 0.9}",
        "x.yaml: key 'config.gama' is unknown; did you mean 'config.gamma'?",
    ),
    (
        "preset: tuned",
        "config: {intrinsic: {coeff: 1}}",
        "x.yaml: key 'config.intrinsic.coeff' is unknown; did you mean 'config.intrinsic.coef'?",
    ),
    (
        "preset: tuned",
        "config: {gamma: high}",
        "x.yaml: key 'config.gamma' must be a number, not 'high'",
    ),
    ("preset: tuned", "config: {seed: 1}", "x.yaml: key 'config.seed' is set by the key 'seed'"),
    (
        "preset: tuned",
        "config: {intrinsic: {coef: -1}}",
        "x.yaml: trial ride_Empty-5x5_seed1: coef",
    ),
    # A tuple of three numbers.
    ("MiniGrid-Empty-5x5-v0", "Blackjack-v1", "x.yaml: trial ride_Blackjack-v1_seed1: environment"),
]


@pytest.mark.parametrize("verb", ["run", "check"])
@pytest.mark.parametrize(("before", "after", "message"), BAD_FILES)
def test_a_bad_file_is_told_in_one_message_and_nothing_is_written(
    folder, capsys, verb, before, after, message
):
    assert before in GOOD
    (folder / "x.yaml").write_text(GOOD.replace(before, after))

    code = main([verb, "x.yaml"])

    told = capsys.readouterr()
    assert code == 2
    assert told.err.startswith(message)
    assert told.err.count("\n") == 1
    assert told.out == ""
    assert [path.name for path in folder.iterdir()] == ["x.yaml"]


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["run", "y.yaml"], "y.yaml: no such file; did you mean x.yaml?"),
        (["run", "x.yaml", "--method", "icm"], "x.yaml: method 'icm' is not in the experiment"),
        (["run", "x.yaml", "--seed", "9"], "x.yaml: seed 9 is not in the experiment, which has: 1"),
        (["run", "x.yaml", "--set", "gama=1"], "x.yaml: key 'config.gama' is unknown"),
        (["run", "x.yaml", "--resume"], "/runs/x holds no run to resume: start it without"),
        (["run", "x.yaml", "--storage", "x.yaml"], "x.yaml is no folder that can be written to"),
        (["run", "x.yaml", "--set", "lr=-1"], "key 'config.lr' must be at least 0, not -1"),
        (
            ["run", "x.yaml", "--set", "preset.algorithm=ppo", "--set", "minibatch_size=0"],
            "key 'config.minibatch_size' must be at least 1, not 0",
        ),
        (["run", "x.yaml", "--set", "lr=.nan"], "key 'config.lr' must be at least 0, not nan"),
        (["run", "x.yaml", "--set", "gamma=2"], "key 'config.gamma' must be a number from 0 to 1"),
        (
            ["check", "x.yaml", "--set", "rollout_fragment_length=0"],
            "key 'config.rollout_fragment_length' must be at least 1, not 0",
        ),
        (["check", "x.yaml", "--set", "intrinsic.coef=big"], "coef='big' must be a number"),
        (["check", "x.yaml", "--set", "intrinsic.rmsprop=3"], "rmsprop=3 must hold keys"),
        (
            ["evaluate", ".", "--seed", "-1"],
            "argument --seed: must be a whole number of at least 0",
        ),
        (["run", "x.yaml", "--set", "gamma"], "argument --set: must be KEY=VALUE, not 'gamma'"),
        (["run", "x.yaml", "--set", "a=[1"], "'a': '[1' is not readable as YAML: expected ',' or"),
        (["run", "x.yaml", "--frames", "1e16"], "argument --frames: must be at most 1e+15"),
        (["run", "x" * 5000], "... (5,002 characters) is no path: File name too long"),
        (["check", "x.yaml", "--set", "num_env_runners=1e9"], "must be at most 10000, not 1000000"),
        (
            ["check", "x.yaml", "--set", "num_learners=1.5"],
            "x.yaml: key 'config.num_learners' must be a whole number, not 1.5",
        ),
        (["run", "x.yaml", "--frames", "-3"], "argument --frames: must be a positive whole number"),
        (
            ["check", "x.yaml", "--preset", "tunned"],
            "x.yaml: preset 'tunned' is unknown; did you mean 'tuned'? Known: paper, released, ",
        ),
        (
            ["run", "x.yaml", "--stop-at-return", "nan"],
            "--stop-at-return: must be a number, not 'nan'",
        ),
        (
            ["run", "x.yaml", "--frames", "ten"],
            "argument --frames: must be a positive whole number",
        ),
        (["evaluate", "x.yaml"], "x.yaml: no checkpoint of a trial or RLlib algorithm"),
        (["evaluate", "nowhere"], "nowhere: no checkpoint of a trial or RLlib algorithm"),
        (["evaluate", ".", "--env", "CartPole-v9"], "environment 'CartPole-v9' is unknown"),
        (["evaluate", ".", "--episodes", "0"], "argument --episodes: must be a positive"),
        (["dance"], "invalid choice: 'dance'"),
    ],
)
def test_a_bad_command_line_is_told_and_nothing_is_written(folder, capsys, argv, message):
    code = main(argv)

    told = capsys.readouterr()
    assert code == 2
    assert message in told.err
    assert "Traceback" not in told.err
    assert told.out == ""
    assert [path.name for path in folder.iterdir()] == ["x.yaml"]


def test_another_preset_than_the_files(folder, capsys):
    assert main(["check", "x.yaml", "--seed", "1", "--preset", "paper", "--json"]) == 0

    assert {trial["preset"] for trial in json.loads(capsys.readouterr().out)["trials"]} == {"paper"}


def test_a_folder_that_holds_a_run_is_not_written_over(folder, capsys):
    (folder / "runs" / "x").mkdir(parents=True)
    (folder / "runs" / "x" / "curve.csv").write_text("precious")

    code = main(["run", "x.yaml"])

    assert code == 2
    assert "holds a run already: go on with it with --resume" in capsys.readouterr().err
    assert (folder / "runs" / "x" / "curve.csv").read_text() == "precious"


@pytest.mark.parametrize(
    ("options", "difference"),
    [
        (["--seed", "2"], "its trials are none_Empty-5x5_seed1, not none_Empty-5x5_seed2"),
        (["--seed", "1", "--frames", "9"], "frames of none_Empty-5x5_seed1 is 1000000, not 9"),
    ],
)
def test_a_run_is_not_resumed_with_other_settings(folder, capsys, options, difference):
    (folder / "runs" / "x").mkdir(parents=True)
    trials = expand(load_spec("x.yaml"), methods=["none"], seeds=[1])
    recorded = json.dumps([trial.to_dict() for trial in trials])
    (folder / "runs" / "x" / "trials.json").write_text(recorded)

    code = main(["run", "x.yaml", "--resume", "--method", "none", *options])

    assert code == 2
    assert difference in capsys.readouterr().err


def test_wandb_where_it_is_not_installed(folder, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "wandb", None)

    assert main(["run", "x.yaml", "--wandb", "offline"]) == 2

    assert "pip install 'rllib-ride[wandb]'" in capsys.readouterr().err
    assert [path.name for path in folder.iterdir()] == ["x.yaml"]


@pytest.mark.parametrize("argv", [["check", "x.yaml"], ["run", "x.yaml", "--dry-run"]])
def test_check_and_dry_run_print_the_expansion_and_write_nothing(folder, capsys, argv):
    code = main([*argv, "--method", "none", "--seed", "3", "--seed", "1", "--json"])

    assert code == 0
    told = json.loads(capsys.readouterr().out)
    assert told["experiment"] == "x"
    assert told["frames"] == 2_000_000
    assert [trial["trial"] for trial in told["trials"]] == [
        "none_Empty-5x5_seed1",
        "none_Empty-5x5_seed3",
    ]
    assert told["trials"][0]["resources"] == {"CPU": 1.0}
    assert [path.name for path in folder.iterdir()] == ["x.yaml"]


def test_check_as_a_table(folder, capsys):
    assert main(["check", "x.yaml", "--frames", "30e3"]) == 0

    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 1 + 2 * 3
    assert lines[1].split() == [
        *("ride_Empty-5x5_seed1", "ride", "MiniGrid-Empty-5x5-v0", "1", "tuned", "30,000"),
        *("1", "CPU"),
    ]


def test_list(monkeypatch, capsys):
    monkeypatch.chdir(CLONE)

    def listed(what):
        assert main(["list", what, "--json"]) == 0
        return json.loads(capsys.readouterr().out)

    assert {"ride", "none"} <= {row["method"] for row in listed("methods")}
    envs = {row["env"]: (row["paper"], row["max_steps"]) for row in listed("envs")}
    assert envs["MiniGrid-MultiRoomNoisyTV-N7-S4-v0"] == ("fig:minigrid", 140)
    figures, limit = envs["MiniGrid-ObstructedMaze-2Dlh-v0"]
    assert figures.startswith("fig:minigrid, ") and limit == 576
    assert figures.endswith("; fig:fixed_seed_obstructed (with singleton_seed: 1)")
    assert envs["MiniGrid-Empty-5x5-v0"] == ("", None)
    experiments = {row["experiment"]: row["paper"] for row in listed("experiments")}
    assert experiments["tune_configs/quickstart.yaml"].startswith("fig:minigrid, MultiRoom-N7-S4")


def test_help_and_a_mistyped_key_answer_before_ray_and_torch_are_imported(folder):
    (folder / "x.yaml").write_text(GOOD.replace("frames", "frmes"))
    script = (
        "import sys; from rllib_ride.cli import main;"
        "assert main(['--help']) == 0; assert main(['run', 'x.yaml']) == 2;"
        "print([name for name in ('ray', 'torch') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)

    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize("argv", [["list", "methods"], ["list", "methods", "--json"]])
def test_output_that_nobody_reads_ends_the_command_quietly(folder, argv):
    """As in `rllib-ride report runs | head`: like a command that SIGPIPE has ended, 128 + 13."""
    process = subprocess.Popen(
        [sys.executable, "-m", "rllib_ride.cli", *argv],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    process.stdout.close()

    assert process.stderr.read() == ""
    assert process.wait() == 141
