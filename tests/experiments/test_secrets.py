"""No password or token gets into a run's files or onto the console."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from helpers.command import command
from helpers.faulty_env import ENV_ID as FAULTY
from helpers.small_config import SMALL_CONFIG
from helpers.trials import trial
from rllib_ride.experiments.errors import ConfigError
from rllib_ride.experiments.secrets import refuse_secrets, secret_keys

HAS_WANDB = find_spec("wandb") is not None
SECRETS = {
    "WANDB_API_KEY": "5ec0e7a0" * 5,
    "RAY_AUTH_TOKEN": "5ec0e7b0" * 8,
    "AWS_SECRET_ACCESS_KEY": "5ec0e7c0" * 5,
    "HF_TOKEN": "hf_5ec0e7d0",
    "MY_PASSWORD": "correct-horse-5ec0e7e0",
}
EXPERIMENT = (
    """
experiment: {name}
env: {env}
method: ride
preset: tuned
seed: 1
frames: 1000
"""
    + SMALL_CONFIG
)


@pytest.mark.parametrize(
    ("settings", "key"),
    [
        ({"config": {"env_config": {"token": "s3"}}}, "env_config.token"),
        ({"config": {"env_config": {"apiKey": "s3"}}}, "env_config.apiKey"),
        ({"config": {"a": [{"client-secret": "s3"}]}}, "a.client-secret"),
        ({"env_options": {"db_password": "s3"}}, "db_password"),
    ],
)
def test_a_setting_that_looks_like_a_secret_is_refused(settings: Any, key: str) -> None:
    with pytest.raises(ConfigError) as error:
        refuse_secrets(trial(**settings))
    assert f"key '{key}' looks like a secret" in str(error.value)
    assert "s3" not in str(error.value)


@pytest.mark.parametrize(
    "settings",
    [
        {"action_mask_key": "action_mask", "num_tokens": "3"},
        {"env_config": {"token": 3, "tokens": "a b", "token_kind": "word", "password": ""}},
        {"env_config": {"level": "KeyCorridor", "keys": ["red"], "monkey": "x"}},
    ],
)
def test_a_setting_that_is_none_is_taken(settings: dict[str, Any]) -> None:
    assert list(secret_keys(settings)) == []
    refuse_secrets(trial(config=settings))


def test_the_command_refuses_one_without_telling_it(tmp_path: Path) -> None:
    (tmp_path / "x.yaml").write_text(EXPERIMENT.format(name="x", env="MiniGrid-Empty-5x5-v0"))
    option = "env_config.api_key=hush-hush"
    code, out, err = command("run", "x.yaml", "--set", option, folder=tmp_path)
    assert (code, out) == (2, "")
    assert err.startswith("x.yaml: key 'env_config.api_key' looks like a secret")
    assert "hush" not in err
    assert [path.name for path in tmp_path.iterdir()] == ["x.yaml"]


@pytest.fixture
def temporary() -> Iterator[Path]:
    """A folder with a short path, which Ray's sockets need."""
    folder = Path(tempfile.mkdtemp(prefix="rr", dir="/tmp"))
    yield folder
    shutil.rmtree(folder)


@pytest.mark.slow
def test_no_secret_of_the_environment_is_in_any_file_or_output(
    tmp_path: Path, temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in SECRETS.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("RAY_AUTH_MODE", "token")
    home = tmp_path / "home"
    home.mkdir()
    for name, folder in (("HOME", home), ("TMPDIR", temporary), ("RAY_TMPDIR", temporary)):
        monkeypatch.setenv(name, str(folder))
    for name, env in (("fine", "MiniGrid-Empty-5x5-v0"), ("fails", FAULTY)):
        (tmp_path / f"{name}.yaml").write_text(EXPERIMENT.format(name=name, env=env))
    wandb = ["--wandb", "offline"] if HAS_WANDB else []

    told = {
        name: command(*words, folder=tmp_path)
        for name, words in {
            "doctor": ["doctor"],
            "check": ["check", "fine.yaml", "--json"],
            "run": ["run", "fine.yaml", "--json", *wandb],
            "a failing run": ["run", "fails.yaml", *wandb],
        }.items()
    }

    assert {name: code for name, (code, _, _) in told.items()} == {
        **{"doctor": 0, "check": 0, "run": 0},
        "a failing run": 1,
    }, told
    files = [path for top in (tmp_path, temporary) for path in top.rglob("*") if path.is_file()]
    assert any("session_" in str(path) for path in files)  # Ray's logs are among them
    assert not HAS_WANDB or any(path.suffix == ".wandb" for path in files)
    texts = {str(path): path.read_bytes() for path in files}
    texts |= {name: (out + err).encode() for name, (_, out, err) in told.items()}
    assert [
        (name, secret)
        for name, text in texts.items()
        for secret, value in SECRETS.items()
        if value.encode() in text
    ] == []
