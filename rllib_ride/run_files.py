"""The files of a run's folder, by which its writers and its readers know each other."""

from __future__ import annotations

from pathlib import Path

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
