"""What a seal tells, which formats are read, and what a mismatch is told as."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from minigrid.core.mission import MissionSpace

from rllib_ride.machine import package_version
from rllib_ride.seal import (
    FORMAT,
    SEAL_FILE,
    HalfSeal,
    SealError,
    check_seal,
    read_seal,
    space_text,
    verified,
    write_seal,
)

FIRST_FORMAT = Path(__file__).parent / "data" / "checkpoint_format_1"
"""As the first release wrote it, but for the size of its files: every later one has to read it."""

FACTS = {
    "method": "ride",
    "env": "MiniGrid-MultiRoom-N7-S4-v0",
    "env_options": {"singleton_seed": 3},
    "observation_space": "Box(0, 255, (7, 7, 3), uint8)",
    "action_space": "Discrete(7)",
    "modules": {"default_policy": {"network": "paper"}, "intrinsic": {"method": "ride"}},
}


def rewrite(folder: Path, **changes: Any) -> Path:
    """A copy of the checkpoint of format 1 with other facts; None takes one out."""
    shutil.copytree(FIRST_FORMAT, folder)
    seal = {**json.loads((folder / SEAL_FILE).read_text()), **changes}
    seal = {key: value for key, value in seal.items() if value is not None}
    (folder / SEAL_FILE).write_text(json.dumps(seal))
    return folder


def test_a_checkpoint_of_the_first_format_is_read() -> None:
    seal = verified(FIRST_FORMAT)

    assert seal["format"] == 1 <= FORMAT
    assert (seal["frames"], seal["result"]["return_mean"]) == (2048, 0.25)
    check_seal(FIRST_FORMAT, seal, FACTS)


def test_a_seal_of_before_the_formats_is_format_0_and_compares_nothing(tmp_path: Path) -> None:
    facts = dict.fromkeys(FACTS)  # None: without
    old = rewrite(tmp_path / "c", format=None, versions=None, frames=None, **facts)

    seal = verified(old)
    assert seal["format"] == 0
    check_seal(old, seal, {**FACTS, "method": "icm"})


def test_a_newer_format_is_refused_by_name(tmp_path: Path) -> None:
    newer = rewrite(tmp_path / "c", format=FORMAT + 1, versions={"rllib-ride": "9.8.7"})

    with pytest.raises(SealError) as error:
        read_seal(newer)
    assert str(error.value) == (
        f"{newer}: format is {FORMAT + 1}, and rllib-ride {package_version('rllib-ride')} reads 0 "
        f"to {FORMAT}; install the rllib-ride that wrote it (9.8.7) or a newer one"
    )


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("method", "icm"),
        ("env", "MiniGrid-MultiRoom-N7-S8-v0"),
        ("env_options", {}),
        ("observation_space", "Box(0, 255, (9, 9, 3), uint8)"),
        ("action_space", "Discrete(3)"),
        ("modules", {"default_policy": {"network": "released"}}),
    ],
)
def test_another_checkpoint_is_told_in_one_line_with_both_values(key: str, value: Any) -> None:
    with pytest.raises(SealError) as error:
        check_seal(FIRST_FORMAT, read_seal(FIRST_FORMAT), {**FACTS, key: value})
    told = str(error.value)
    assert told.startswith(f"{FIRST_FORMAT}: {key} is {FACTS[key]!r}, and this trial has {value!r}")
    assert "\n" not in told


@pytest.mark.parametrize(("saved", "is_read"), [("2.48.0", True), ("2.60.9", True), ("3.1", False)])
def test_what_a_newer_rllib_saved_is_refused(tmp_path: Path, saved: str, is_read: bool) -> None:
    folder = rewrite(tmp_path / "c", versions={"ray": saved})
    if is_read:
        check_seal(folder, read_seal(folder), FACTS)
        return
    with pytest.raises(SealError, match=f"ray is {saved}, and here is .*; install ray {saved}"):
        check_seal(folder, read_seal(folder), FACTS)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "Expecting value"),
        ('{"format": 1, "files": {', "Expecting property name"),
        ("[]", "format is None, expected a whole number"),
        ('{"format": "1"}', "format is '1', expected a whole number"),
        ('{"format": 1, "files": {}}', "result is None, expected an object"),
    ],
)
def test_half_a_seal_is_one_message(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / SEAL_FILE).write_text(text)
    with pytest.raises(HalfSeal, match=message) as error:
        read_seal(tmp_path)
    assert str(error.value).startswith(str(tmp_path / SEAL_FILE))


def test_a_changed_file_is_named_with_both_hashes(tmp_path: Path) -> None:
    folder = rewrite(tmp_path / "c")
    (folder / "weights.pt").write_bytes(b"other")

    with pytest.raises(
        SealError, match=r"weights.pt is sha256 \w{12}..., but was sealed as sha256"
    ):
        verified(folder)


def test_facts_come_back_as_plain_values(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("a")
    write_seal(tmp_path, {"result": {"frames": np.int64(7), "loss": np.float32(0.5)}})

    seal = verified(tmp_path)
    assert seal["result"] == {"frames": 7, "loss": 0.5}
    assert seal["versions"]["numpy"] == np.__version__


def test_a_space_is_the_same_text_in_every_process() -> None:
    space = gym.spaces.Dict({"mission": MissionSpace(lambda: "go"), "n": gym.spaces.Discrete(2)})
    assert space_text(space) == "Dict('mission': MissionSpace(<function>, None), 'n': Discrete(2))"
