"""A checkpoint's seal: the versions and settings that made it, and the hashes of its files.

`FORMAT` increases only with a change that an older reader would get wrong. A version of the package
reads its own format and all older ones; it rejects a newer one and names the version that wrote it.
Format 0 is a seal from before the format had a number: hashes and result only. See
docs/checkpoints.md.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import gymnasium as gym

from rllib_ride.machine import package_version

SEAL_FILE = "seal.json"
FORMAT = 1
_TAKE_ANOTHER = "take another checkpoint"
_PACKAGES = ("rllib-ride", "ray", "torch", "numpy", "gymnasium")


class SealError(ValueError):
    """A checkpoint is rejected; the message names it, the key, both values and a remedy."""


class HalfSeal(SealError):
    """The seal, which is written last, is missing or incomplete."""


def write_seal(folder: Path, facts: Mapping[str, Any]) -> None:
    """Seals the files that are in a checkpoint's folder now. Call it after writing all others.

    Args:
        folder: The checkpoint.
        facts: Further entries of the seal. Values that JSON lacks are saved as numbers or text.
    """
    seal = {
        "format": FORMAT,
        "versions": {name: package_version(name) for name in _PACKAGES},
        **facts,
        "files": _hashes(folder),
    }
    (folder / SEAL_FILE).write_text(json.dumps(seal, default=_plain), encoding="utf-8")


def read_seal(folder: Path) -> dict[str, Any]:
    """Reads a checkpoint's seal, without checking the files.

    Raises:
        HalfSeal: The seal is missing or incomplete.
        SealError: The seal has a newer format.
    """
    path = folder / SEAL_FILE
    try:
        seal = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise HalfSeal(f"{path}: {error}; {_TAKE_ANOTHER}") from None
    number = seal.get("format", 0) if isinstance(seal, dict) else None
    if not isinstance(number, int):
        raise HalfSeal(f"{path}: format is {number!r}, expected a whole number; {_TAKE_ANOTHER}")
    if number > FORMAT:
        wrote = seal.get("versions", {}).get("rllib-ride", "a newer one")
        raise SealError(
            f"{folder}: format is {number}, and rllib-ride {package_version('rllib-ride')} reads "
            f"0 to {FORMAT}; install the rllib-ride that wrote it ({wrote}) or a newer one"
        )
    for key in ("files", "result"):
        if not isinstance(seal.get(key), dict):
            raise HalfSeal(
                f"{path}: {key} is {seal.get(key)!r}, expected an object; {_TAKE_ANOTHER}"
            )
    return {"format": 0, **seal}


def verified(folder: Path) -> dict[str, Any]:
    """Reads a checkpoint's seal and checks the files against its hashes.

    Raises:
        SealError: See `read_seal`; or a file is missing, changed, or not in the seal.
    """
    seal = read_seal(folder)
    sealed, found = seal["files"], _hashes(folder)
    for name in sorted({*sealed, *found}):
        if sealed.get(name) != found.get(name):
            was, now = (_short(files.get(name)) for files in (sealed, found))
            raise SealError(
                f"{folder}: {name} is {now}, but was sealed as {was}: files are missing or not as "
                f"they were saved; {_TAKE_ANOTHER}"
            )
    return seal


def check_seal(folder: Path, seal: Mapping[str, Any], wanted: Mapping[str, Any]) -> None:
    """Rejects a checkpoint that does not match the trial that is to continue from it.

    Args:
        folder: The checkpoint.
        seal: Its seal. Keys that it lacks are not compared.
        wanted: The trial's values.

    Raises:
        SealError: A value differs (the first is named), or a newer minor version of Ray saved it.
    """
    for key, want in json.loads(json.dumps(dict(wanted), default=_plain)).items():
        if key in seal and seal[key] != want:
            raise SealError(
                f"{folder}: {key} is {seal[key]!r}, and this trial has {want!r}; go on with "
                f"{key} {seal[key]!r}, or from a checkpoint of {want!r}"
            )
    saved = seal.get("versions", {}).get("ray", "")
    if _minor(saved) > _minor(package_version("ray")):
        raise SealError(
            f"{folder}: ray is {saved}, and here is {package_version('ray')}, which need not "
            f"read what a newer RLlib saved; install ray {saved}"
        )


def space_text(space: gym.Space) -> str:
    """A space as text that is equal in every process: without the addresses of functions."""
    return re.sub(r"<(?:function|bound method) .*? at 0x[0-9a-f]+>+", "<function>", str(space))


def _hashes(folder: Path) -> dict[str, str]:
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.name != SEAL_FILE)
    return {path.relative_to(folder).as_posix(): _sha256(path) for path in files}


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _short(sha256: str | None) -> str:
    return "missing" if sha256 is None else f"sha256 {sha256[:12]}..."


def _minor(version: str) -> tuple[int, ...]:
    """Major and minor version, (2, 60) of 2.60.1; () if it is not a version."""
    found = re.match(r"(\d+)\.(\d+)", version)
    return tuple(map(int, found.groups())) if found else ()


def _plain(value: Any) -> Any:
    """NumPy scalars as Python numbers, anything else as text."""
    return value.item() if hasattr(value, "item") else str(value)
