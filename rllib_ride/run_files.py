"""The files of a run's folder, by which its writers and its readers know each other."""

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
"""Columns that every `curve.csv` has."""
WINDOW = 100
"""Episodes, the last ones, that `return_mean` is over; fewer solve nothing."""


def write_whole(path: Path, text: str) -> None:
    """Writes a file that is at any moment, and after a kill too, the old one or the new one."""
    part = path.with_name(f"{path.name}.part")
    part.write_text(text, encoding="utf-8", newline="")
    part.replace(path)


def dotted(config: Mapping[str, Any]) -> dict[str, Any]:
    """A record's settings without levels, by names such as `learner_config_dict.intrinsic.lr`.

    What is no mapping, and an empty one too, is a value.
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

    What is not as a run writes it is left out: others may have written to the file.
    """
    entries = record.get("resumed")
    return [entry for entry in entries if _is_whole(entry)] if isinstance(entries, list) else []


def _is_whole(entry: Any) -> bool:
    changed = entry.get("changed") if isinstance(entry, dict) else None
    return isinstance(changed, dict) and all(
        isinstance(pair, list) and len(pair) == 2 for pair in changed.values()
    )
