"""docs/experiments.md: its table is the files', its keys are the schema's, its commands work."""

from __future__ import annotations

import dataclasses
import re
import shlex
from pathlib import Path

import pytest
from ray.rllib.algorithms.impala import IMPALAConfig
from ray.rllib.algorithms.ppo import PPOConfig

from rllib_ride.cli import main
from rllib_ride.experiments.plan import plan
from rllib_ride.experiments.schema import ExperimentSpec, load_spec
from rllib_ride.experiments.trial import expand
from rllib_ride.rllib.presets import Preset, make_config, presets
from rllib_ride.rllib.settings import IntrinsicSettings

CLONE = Path(__file__).parents[2]
TEXT = (CLONE / "docs" / "experiments.md").read_text(encoding="utf-8")
COMMANDS = [
    line.partition("  #")[0].strip()
    for block in re.findall(r"```bash\n(.*?)```", TEXT, re.DOTALL)
    for line in block.splitlines()
]
ESTIMATES = [line for line in COMMANDS if " estimate " in line]


def rows(heading: str) -> list[list[str]]:
    """Cells of the table whose first line starts with `heading`."""
    table = TEXT[TEXT.index(f"| {heading} |") :].split("\n\n")[0]
    return [
        [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        for line in table.splitlines()[2:]
    ]


def test_its_table_has_every_file_with_its_trials_and_frames():
    told = {}
    for _, trials, frames, command in rows("in the paper | trials"):
        path = command.strip("`").removeprefix("rllib-ride run ")
        told[path] = (int(trials), float(frames.replace(",", "").replace("M", "e6")))

    assert told == {
        f"tune_configs/{path.name}": (len(trials), sum(trial.frames for trial in trials))
        for path in (CLONE / "tune_configs").glob("*.yaml")
        for trials in [expand(load_spec(path))]
    }


def test_every_key_has_its_default_and_an_example_that_is_taken(tmp_path):
    keys = {row[0].strip("`"): row for row in rows("key")}
    assert set(ExperimentSpec.model_fields) <= set(keys)

    good = {"experiment": "x", "env": "MiniGrid-Empty-5x5-v0", "method": "ride", "seed": "1"}
    good |= {"frames": "1e7"}
    for name, field in ExperimentSpec.model_fields.items():
        _, _, default, example, _ = keys[name]
        assert default.strip("`") == ("required" if field.is_required() else text(field.default))
        lines = {**good, name: example.strip("`")}
        path = tmp_path / f"{name}.yaml"
        path.write_text("".join(f"{key}: {value}\n" for key, value in lines.items()))
        assert plan(path)


def text(default: object) -> str:
    """A key's default as the page writes it."""
    if default is None:
        return "none"
    return f"{default:g}" if isinstance(default, float) else str(default)


def number(value: str) -> float | None:
    """A preset's value as the page writes it."""
    return None if value == "none" else float(value)


def test_values_of_the_presets():
    told = {row[0].strip("`"): row[1:5] for row in rows("`preset.*` | paper")}

    assert set(told) == {field.name for field in dataclasses.fields(Preset)}
    for column, name in enumerate(presets()):
        values = {key: told[key][column] for key in told}
        config = make_config(
            preset=name, method="ride", env="MiniGrid-Empty-5x5-v0", frames=123_456
        )
        frames = 123_456 if values["anneal_frames"] == "the run's" else values["anneal_frames"]
        assert config.lr == [[0, float(values["lr"])], [float(frames), 0.0]]
        algorithm = {"impala": IMPALAConfig, "ppo": PPOConfig}[values["algorithm"]]
        assert isinstance(config, algorithm)
        rmsprop = IntrinsicSettings.of(config).rmsprop
        assert (rmsprop and rmsprop["eps"]) == number(values["rmsprop_eps"])
        assert config.entropy_coeff == (number(values["entropy_coeff"]) or 0.0005)
        assert config.rollout_fragment_length == int(values["unroll_length"])
        assert config.num_envs_per_env_runner == int(values["num_envs"])
        spec = config.rl_module_spec.rl_module_specs["default_policy"]
        assert spec.model_config["network"] == values["network"]
        harder = make_config(
            preset=name, method="ride", env="MiniGrid-MultiRoom-N7-S8-v0", frames=123_456
        )
        assert IntrinsicSettings.of(harder).lr == float(values["harder_intrinsic_lr"])


def test_the_file_of_ones_own_has_the_trials_it_says(tmp_path):
    (example,) = re.findall(r"```yaml\n(.*?)```", TEXT, re.DOTALL)
    (tmp_path / "x.yaml").write_text(example)

    names = [entry.trial.name for entry in plan(tmp_path / "x.yaml")]

    assert len(names) == 24
    assert "ride_KeyCorridorS3R3_coef=0.05_num_envs=32_seed1" in names


@pytest.mark.parametrize("line", [line for line in COMMANDS if line not in ESTIMATES])
def test_every_command_works(line, monkeypatch, capsys):
    """`run` only prints its trials here; the commands on costs have a test of their own below."""
    monkeypatch.chdir(CLONE)
    program, *argv = shlex.split(line)
    assert program == "rllib-ride"
    if argv[0] == "run":
        argv.append("--dry-run")

    assert main(argv) == 0, capsys.readouterr().err
    assert len(capsys.readouterr().out.splitlines()) > 1


def test_the_costs_it_tells_are_those_of_its_commands(monkeypatch, capsys):
    monkeypatch.chdir(CLONE)
    told = {
        row[0]: row[1:] for row in rows("cluster | 1 machine of 2 cores | 64 machines of 2 cores")
    }

    for column, line in zip((0, 1), ESTIMATES, strict=True):
        assert main(shlex.split(line)[1:]) == 0
        out = capsys.readouterr().out
        lines = [re.split(r"  +", line.strip()) for line in out.splitlines()[1:7]]
        said = {key.partition(" on ")[0]: value.split()[0] for key, value in lines}
        assert float(said["core-hours"]) == pytest.approx(float(told["core-hours"][column]), abs=1)
        hours = told["hours"][column].split()[0]
        assert float(said["hours"]) == pytest.approx(float(hours), abs=0.5)
        assert said["longest trial, hours"] == told["longest trial, hours"][column]
        assert said["cores busy"] == told["cores busy"][column].replace(" ", "")
