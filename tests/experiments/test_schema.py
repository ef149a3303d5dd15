"""What an experiment's file may contain, and the error for one that contains something else."""

from __future__ import annotations

from pathlib import Path

import pytest

from rllib_ride.experiments.errors import ConfigError
from rllib_ride.experiments.schema import EnvChoice, load_spec
from rllib_ride.wording import nearest

GOOD = """
experiment: multiroom
env: MiniGrid-MultiRoom-N7-S4-v0
method: ride
seed: 1
frames: 30e6
"""


def write(folder: Path, text: str) -> Path:
    path = folder / "x.yaml"
    path.write_text(text)
    return path


def test_single_values_are_lists_of_one_and_the_rest_has_defaults(tmp_path):
    spec = load_spec(write(tmp_path, GOOD))

    assert spec.env == [EnvChoice("MiniGrid-MultiRoom-N7-S4-v0")]
    assert spec.method == ["ride"]
    assert spec.seed == [1]
    assert spec.frames == 30_000_000
    assert spec.preset == "paper"
    assert spec.config == {} and spec.grid == {}


def test_environments_with_options_stand_beside_plain_ids(tmp_path):
    text = GOOD.replace("MiniGrid-MultiRoom-N7-S4-v0", "[A-v0, {id: B-v0, size: 5, noisy: true}]")

    assert load_spec(write(tmp_path, text)).env == [
        EnvChoice("A-v0"),
        EnvChoice("B-v0", {"size": 5, "noisy": True}),
    ]


@pytest.mark.parametrize(
    ("written", "value"),
    [("1e-4", 1e-4), ("30e6", 30e6), (".5", 0.5), ("-2.5E+3", -2500.0), ("7", 7), ("v1e4", "v1e4")],
)
def test_numbers_are_read_as_people_write_them(tmp_path, written, value):
    read = load_spec(write(tmp_path, GOOD + f"config: {{lr: {written}}}\n")).config["lr"]

    assert read == value
    assert type(read) is type(value)


@pytest.mark.parametrize("frames", ["30e6", "30_000_000", "30000000", "3.0e7"])
def test_frames_in_every_spelling(tmp_path, frames):
    spec = load_spec(write(tmp_path, GOOD.replace("30e6", frames)))

    assert spec.frames == 30_000_000
    assert isinstance(spec.frames, int)


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("frames", "frmes", "key 'frmes' is unknown; did you mean 'frames'?"),
        ("frames: 30e6", "", "key 'frames' is missing"),
        (
            "30e6",
            "-5",
            "key 'frames' must be a positive whole number such as 30e6, or 'paper', not -5",
        ),
        (
            "30e6",
            "0",
            "key 'frames' must be a positive whole number such as 30e6, or 'paper', not 0",
        ),
        (
            "30e6",
            "2.5",
            "key 'frames' must be a positive whole number such as 30e6, or 'paper', not 2.5",
        ),
        (
            "30e6",
            "lots",
            "key 'frames' must be a positive whole number such as 30e6, or 'paper', not 'lots'",
        ),
        (
            "30e6",
            ".inf",
            "key 'frames' must be a positive whole number such as 30e6, or 'paper', not inf",
        ),
        (
            "30e6",
            "true",
            "key 'frames' must be a positive whole number such as 30e6, or 'paper', not True",
        ),
        ("seed: 1", "seed: []", "key 'seed' must name at least one seed, not []"),
        ("seed: 1", "seed: [1, 1]", "key 'seed' names a seed twice, not [1, 1]"),
        ("30e6", "1e16", "key 'frames' must be at most 1e+15, not 1e+16"),
        (
            "seed: 1",
            "seed: 3e9",
            "key 'seed' must be a whole number of at least 0 and at most 2147",
        ),
        ("multiroom\n", "x" * 101 + "\n", "key 'experiment' must have at most 100 characters"),
        ("seed: 1", "seed: one", "key 'seed' must be a whole number of at least 0"),
        ("seed: 1", "seed: -1", "key 'seed' must be a whole number of at least 0"),
        ("method: ride", "method: []", "key 'method' must name at least one method, not []"),
        ("method: ride", "method: 3", "key 'method' must be a method's name"),
        (
            "env: MiniGrid-MultiRoom-N7-S4-v0",
            "env: {size: 5}",
            "key 'env' must be an environment's",
        ),
        (
            "experiment: multiroom",
            "experiment: ../up",
            "key 'experiment' must be a name of letters",
        ),
        ("experiment: multiroom", "experiment: 3", "key 'experiment' must be text, not 3"),
        ("seed: 1", "seed: 1\nconfig: fast", "key 'config' must hold keys and values, not 'fast'"),
        ("seed: 1", "seed: 1\ngrid: {lr: 3}", "key 'grid' must give 'lr' a list of at least one"),
        ("seed: 1", "seed: 1\npreset: [paper]", "key 'preset' must be text, not ['paper']"),
        (
            "seed: 1",
            "seed: 1\ncheckpoint_every_s: 0",
            "key 'checkpoint_every_s' must be a positive",
        ),
    ],
)
def test_a_wrong_key_or_value_is_told_in_one_message(tmp_path, before, after, message):
    assert before in GOOD
    path = write(tmp_path, GOOD.replace(before, after))

    with pytest.raises(ConfigError) as error:
        load_spec(path)

    assert str(error.value).startswith(f"{path}: {message}")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("experiment: x\nenv: [a, b\nseed: 1\n", " line 3: expected ',' or ']'"),
        ("experiment: x\nseed: 1\nseed: 2\n", " line 3: key 'seed' is given twice"),
        ("config: {lr: 1, lr: 2}\n", " line 1: key 'lr' is given twice"),
        ("experiment: !!python/name:os.system x\n", " line 1: could not determine a constructor"),
        ("config: {1: 2}\n", " line 1: a key must be text, not '1' (quotes make it one)"),
        ("config: {on: 2}\n", " line 1: a key must be text, not 'on'"),
        ('"\\ud800": 1\n', " line 1: '\\ud800' has half a character"),
        ("seed: !!int x\n", " line 1: 'x' is no int"),
        ("seed: 36893488147419103232\n", " line 1: '36893488147419103232' has more than 64 bits"),
        ("config: &a {b: *a}\n", " line 1: an alias stands in the very part that it is of"),
        ("- ride\n", ": must hold keys and values"),
        ("", ": must hold keys and values"),
    ],
)
def test_a_file_that_does_not_parse_is_told_with_its_line(tmp_path, text, message):
    path = write(tmp_path, text)

    with pytest.raises(ConfigError) as error:
        load_spec(path)

    assert str(error.value).startswith(f"{path}{message}")


def test_aliases_and_merges_are_written_out(tmp_path):
    """A merged mapping may have its own value of a key, and be merged again further up."""
    text = """
config:
  a: &base {lr: 1, gamma: 0.9}
  b: {c: &own {<<: *base, lr: 2}}
  d: {<<: *own}
"""
    config = load_spec(write(tmp_path, GOOD + text)).config

    assert config["b"]["c"] == config["d"] == {"lr": 2, "gamma": 0.9}


def test_a_date_is_text(tmp_path):
    """A run's settings are kept as JSON, which has no dates."""
    text = GOOD + "config: {day: 2001-01-01}\n"
    assert load_spec(write(tmp_path, text)).config == {"day": "2001-01-01"}


def test_a_missing_file_is_told_with_the_nearest_there_is(tmp_path):
    there = write(tmp_path, GOOD)

    with pytest.raises(ConfigError, match="no such file; did you mean") as error:
        load_spec(tmp_path / "y.yaml")
    assert str(error.value).endswith(f"{there}?")
    with pytest.raises(ConfigError, match="no such file$"):
        load_spec(tmp_path / "elsewhere" / "y.yaml")


@pytest.mark.parametrize(("word", "guess"), [("RIDE", "ride"), ("icmm", "icm"), ("zebra", None)])
def test_nearest(word, guess):
    assert nearest(word, ["ride", "icm", "rnd", "count", "none"]) == guess


def test_ways_to_end_early_are_as_asked_for(tmp_path):
    assert load_spec(write(tmp_path, GOOD)).stop_at_return is None
    assert load_spec(write(tmp_path, GOOD)).asha is None
    spec = load_spec(write(tmp_path, GOOD + "stop_at_return: 0.6\nasha: {grace_frames: 1e6}\n"))
    assert spec.stop_at_return == 0.6
    assert spec.asha == {"grace_frames": 1_000_000, "reduction_factor": 4}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("stop_at_return: high", "key 'stop_at_return' must be a number, not 'high'"),
        ("stop_at_return: true", "key 'stop_at_return' must be a number, not True"),
        ("asha: true", "key 'asha' must be {grace_frames: ..., reduction_factor: ...}, not True"),
        ("asha: {grace: 5}", "key 'asha' must be {grace_frames: ..., reduction_factor: ...}"),
        ("asha: {reduction_factor: 3}", "whole grace_frames of at least 1, not {"),
        ("asha: {grace_frames: 5, reduction_factor: 1}", "with a reduction_factor above 1, not {"),
        ("asha: {grace_frames: 31e6}", "key 'asha' has grace_frames above the 30000000 frames"),
    ],
)
def test_a_bad_way_to_end_early_is_refused(tmp_path, line, message):
    with pytest.raises(ConfigError) as error:
        load_spec(write(tmp_path, GOOD + line + "\n"))
    assert message in str(error.value)


def test_asha_is_for_one_environment(tmp_path):
    text = GOOD.replace("env: ", "env: [A-v0, ").replace("S4-v0", "S4-v0]")
    with pytest.raises(ConfigError, match="x.yaml: key 'asha' compares returns, so it needs one"):
        load_spec(write(tmp_path, text + "asha: {grace_frames: 10}\n"))
