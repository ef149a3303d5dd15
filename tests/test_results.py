"""What the tables of results/ say of frames to solve is what the curves there say."""

from __future__ import annotations

import csv
import json
import re
from collections import defaultdict
from pathlib import Path

import pytest

CLONE = Path(__file__).parents[1]
RESULTS = CLONE / "results"
PAGES = [RESULTS / "README.md", CLONE / "docs" / "reproduction.md"]
LINES = (RESULTS / "commands.txt").read_text(encoding="utf-8").splitlines()
PARTS = [line.split()[0] for line in LINES if not line.startswith("#")]
MEASURED = [part for part in PARTS if (RESULTS / part).exists()]
TEXT = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
ROWS = [set(re.split(r" *\| *", line)) for line in TEXT.splitlines() if line.startswith("|")]
EASIER = re.compile("MultiRoom-N7-S4|MultiRoom-N10-S4|KeyCorridorS3R3")


def solved_at(folder: Path) -> int | None:
    """Frames of the first row whose mean over 100 episodes solves the task."""
    threshold = 0.6 if EASIER.search(folder.name) else 0.5
    with (folder / "curve.csv").open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            if int(row["episodes"]) >= 100 and float(row["return_mean"]) >= threshold:
                return int(row["frames"])
    return None


def told(folder: Path, frames: int | None, has_ended: bool) -> str:
    """Frames to solve, as the tables give them."""
    if frames:
        return f"{frames / 1e6:.2f}M"
    *_, last = (folder / "curve.csv").read_text(encoding="utf-8").splitlines()
    return f"not by {int(last.split(',')[0]) / 1e6:.1f}M" + ("" if has_ended else " (cut)")


@pytest.mark.parametrize("part", MEASURED)
def test_frames_to_solve_are_those_of_the_curves(part):
    seeds = defaultdict(list)
    for folder in sorted((RESULTS / part).iterdir()):
        record = json.loads((folder / "run.json").read_text(encoding="utf-8"))
        method = record["method"]
        task = folder.name.removeprefix(f"{method}_").rpartition("_seed")[0]
        seeds[method, task].append((folder, solved_at(folder), bool(record.get("ended"))))

    for (method, task), trials in seeds.items():
        solved = [frames for _, frames, _ in trials if frames]
        cells = {
            f"{len(solved)} of {len(trials)}",
            ", ".join(told(*trial) for trial in trials),
            f"`{part}`",
        }
        if len(solved) == len(trials) > 1:
            cells.add(f"{sum(solved) / len(solved) / 1e6:.2f}M")
        if not part.startswith(("search_", "truncate_")):  # whose tables are of one task or method
            cells |= {task, f"`{method}`"}
        assert any(cells <= row for row in ROWS), f"no table's row has {cells}"


def test_every_part_that_is_there_can_be_run_again():
    others = {"n7s4_looks", "quickstart"} | {p.name for p in RESULTS.glob("minigrid_*")}

    assert {path.name for path in RESULTS.iterdir() if path.is_dir()} - others == set(MEASURED)
