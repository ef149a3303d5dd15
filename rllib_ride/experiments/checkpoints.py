"""Whole checkpoints, told from those that a kill or a full disk left half written.

Tune copies a checkpoint into the trial's folder file by file. `seal` lists the files with their
hashes before that; only a folder in which all of them have arrived is whole.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

SEAL_FILE = "seal.json"


def seal(folder: str | Path, result: Mapping[str, Any]) -> None:
    """Writes the hashes of the checkpoint's files, and the result it was made after."""
    folder = Path(folder)
    text = json.dumps({"files": _hashes(folder), "result": result}, default=_plain)
    (folder / SEAL_FILE).write_text(text, encoding="utf-8")


def result_of(folder: Path) -> dict[str, Any] | None:
    """The result that a checkpoint was made after; None if the checkpoint is not whole."""
    try:
        sealed = json.loads((folder / SEAL_FILE).read_text(encoding="utf-8"))
        return sealed["result"] if _hashes(folder) == sealed["files"] else None
    except (OSError, ValueError, KeyError):
        return None


def whole_checkpoints(trial_folder: Path) -> list[tuple[Path, dict[str, Any]]]:
    """The whole checkpoints of a trial with their results, oldest first."""
    found = [(path, result_of(path)) for path in sorted(trial_folder.glob("checkpoint_*"))]
    return [(path, result) for path, result in found if result is not None]


def _hashes(folder: Path) -> dict[str, str]:
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.name != SEAL_FILE)
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in files
    }


def _plain(value: Any) -> Any:
    """NumPy's numbers as Python's; of anything else its text."""
    return value.item() if hasattr(value, "item") else str(value)
