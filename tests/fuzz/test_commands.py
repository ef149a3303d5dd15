"""Any command line either succeeds or is refused in one message."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from helpers.typed import Answer, is_one_message, typed
from rllib_ride.experiments.overrides import setting_names
from rllib_ride.rllib.presets import make_config

GOOD = {
    "experiment": "x",
    "env": "MiniGrid-Empty-5x5-v0",
    "method": "ride",
    "preset": "tuned",
    "seed": 1,
    "frames": 1e6,
}
ODD = st.sampled_from(
    [
        *("", "x", "..", "a/b", "\0", "x" * 5000, "\ud800", "5", "auto", "os.system", "torch"),
        *(None, True, False, 0, 1, -1, 7, 2**63, -(2**63), 10**9, 10**400, 0.5, -0.5, 1e308),
        *(float("nan"), float("inf"), -float("inf")),
        *([], {}, [[]], [None], ["x"], [1, 2], [[0, 1e-4], [1000, 0.0]], [[0, float("nan")]]),
        *({"x": 1}, {"type": "x"}, {"": None}, {"a": {"b": {"c": []}}}),
    ]
)
few = settings(max_examples=max(12, settings().max_examples // 4))  # builds RLlib's configs


@pytest.fixture(scope="module", autouse=True)
def in_an_empty_folder(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("empty")
        patch.chdir(folder)
        yield
        assert list(folder.iterdir()) == []  # no command has written anything


def check_told(answer: Answer) -> None:
    """Checks that a command either succeeded without an error, or was refused with only one."""
    if answer.code == 0:
        assert answer.out
    else:
        assert answer.code == 2 and answer.out == ""
        last = answer.err.splitlines()[-1]  # argparse prints the usage above it
        assert is_one_message(last), answer.err
        assert answer.err.startswith("usage: ") or is_one_message(answer.err), answer.err


def checked(content: dict[str, Any], *more: str) -> Answer:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "x.yaml")
        path.write_text(yaml.safe_dump(content), encoding="utf-8")
        return typed("check", path, *more)


SETTINGS = sorted(
    setting_names(
        make_config(
            preset="tuned", method="ride", env="MiniGrid-Empty-5x5-v0", frames=1e6, env_options={}
        )
    )
)
KEYS = st.sampled_from(
    [
        *SETTINGS,
        *("intrinsic", "preset", "env", "env_config", "seed"),
        *(f"preset.{name}" for name in ("network", "lr", "anneal_frames", "num_envs", "x")),
        *(f"intrinsic.{name}" for name in ("coef", "counts", "lr", "reward_clip", "rmsprop")),
        *("intrinsic.method_config", "intrinsic.observation_key", "intrinsic.rmsprop.alpha"),
        *("a.b", "lr.x", ".", "..", "", "lr.", ".lr", "lr..x"),
    ]
)


@few
@given(st.dictionaries(KEYS, ODD, min_size=1, max_size=2))
@example({"num_env_runners": 10**9})
@example({"evaluation_num_env_runners": 10**9, "evaluation_interval": 1})
@example({"num_learners": 1.5})
@example({"num_cpus_per_env_runner": "x"})
@example({"num_gpus_per_learner": -1})
def test_any_value_of_a_setting(config: dict[str, Any]) -> None:
    check_told(checked({**GOOD, "grid": {key: [value] for key, value in config.items()}}))


@few
@given(st.dictionaries(st.sampled_from(["size", "id", "max_steps", "x", "seed", "num_envs"]), ODD))
@example({"size": 10**9})
@example({"size": -1})
@example({"size": "big"})
@example({"size": "x" * 5000})
def test_any_option_of_an_environment(options: dict[str, Any]) -> None:
    check_told(checked({**GOOD, "env": {"id": "MiniGrid-Empty-5x5-v0", **options}}))


names = st.text(max_size=20) | st.sampled_from(
    [
        *("x" * 5000, ":", "a:", ":a", "..", "a..b:c", "os:x", ".x:y", "ride:ride", "\0:\0"),
        *("ALE/Pong-v5", "CartPole-v1", "gymnasium:CartPole-v1", "FrozenLake-v1", "Taxi-v3"),
    ]
)


@few
@given(names, names | st.just("ride"), names | st.just("tuned"))
def test_any_name(env: str, method: str, preset: str) -> None:
    check_told(checked({**GOOD, "env": env, "method": method, "preset": preset}))


ARGUMENTS = """
--method --env --seed --preset --frames --stop-at-return --set --fps --storage --cores --nodes
--price --json --dry-run --resume --episodes --greedy --out --threshold --help ride none 1 -1 0 1e6
1e400 nan inf -inf lr=1e-4 lr= =1 gamma=[ x=*a x=&a x=&a[*a] ride=100 ride=0 ride=1e-300 a=b=c
1e-300 1e15 .. . / 99999999999999999999 /dev/null nowhere.yaml
"""
ESTIMATES = """
--fps=100 --fps=ride=5 --fps=none=1e-6 --fps=1e12 --fps=x=1 --cores=1 --cores=1e15 --nodes=10000
--nodes=1e9 --price=0.01 --price=1e12 --price=1e-400 --frames=1e15 --seed=1 --seed=2 --method=ride
--set=num_env_runners=3 --set=num_gpus_per_learner=1 --json
"""
arguments = (
    st.sampled_from(ARGUMENTS.split())
    | st.text(max_size=10)
    | st.sampled_from(["\0", "x" * 5000, "x/" * 3000, "\udcff", "set=" + "[" * 5000])
)


@given(
    st.sampled_from(["check", "estimate", "evaluate", "analyze", "report", "list", "x", ""]),
    st.lists(arguments, max_size=6),
)
def test_any_command_line(verb: str, argv: list[str]) -> None:
    check_told(typed(verb, *argv))


@few
@given(st.lists(st.sampled_from(ESTIMATES.split()), max_size=5))
def test_any_estimate(argv: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "x.yaml")
        path.write_text(yaml.safe_dump({**GOOD, "seed": [1, 2, 3]}), encoding="utf-8")
        check_told(typed("estimate", path, *argv))
