"""Names and formats of the files in a run's folder, shared by their writers and readers."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

RECORD_FILE = "run.json"
CURVE_FILE = "curve.csv"
TRIALS_FILE = "trials.json"
CURVE_COLUMNS = (
    "frames",
    "wall_s",
    "episodes",
    "return_mean",
    "return_std",
    "length_mean",
    "intrinsic_reward_mean",
    "fps",
)
"""The columns of every `curve.csv`."""
WINDOW = 100
"""Number of last episodes that `return_mean` averages. With fewer, a task is not yet solved."""


def write_whole(path: Path, text: str) -> None:
    """Writes a file atomically: at any time, even after a kill, it is the old or the new one."""
    part = path.with_name(f"{path.name}.part")
    part.write_text(text, encoding="utf-8", newline="")
    part.replace(path)


def dotted(config: Mapping[str, Any]) -> dict[str, Any]:
    """Flattens a record's settings to dotted names such as `learner_config_dict.intrinsic.lr`.

    An empty mapping is kept as a value.
    """
    flat: dict[str, Any] = {}
    for key, value in config.items():
        if isinstance(value, Mapping) and value:
            flat.update({f"{key}.{name}": inner for name, inner in dotted(value).items()})
        else:
            flat[key] = value
    return flat


def resumptions(record: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The entries of a record's `resumed`, each with commit, versions and changed settings.

    Entries not in the form that a run writes are skipped: others may have edited the file.
    """
    entries = record.get("resumed")
    return [entry for entry in entries if _is_whole(entry)] if isinstance(entries, list) else []


def _is_whole(entry: Any) -> bool:
    changed = entry.get("changed") if isinstance(entry, dict) else None
    return isinstance(changed, dict) and all(
        isinstance(pair, list) and len(pair) == 2 for pair in changed.values()
    )
