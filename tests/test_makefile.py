"""What `make` would run."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from rllib_ride.experiments.sole_run import LOCK_FILE
from rllib_ride.run_files import TRIALS_FILE

MAKEFILE = Path(__file__).parents[1] / "Makefile"


@pytest.mark.parametrize(
    ("left", "resumes"),
    [([], False), ([LOCK_FILE], False), ([LOCK_FILE, TRIALS_FILE], True)],
    ids=["nothing", "killed before it began", "begun"],
)
def test_quickstart_goes_on_with_a_run_that_has_begun(
    tmp_path: Path, left: list[str], resumes: bool
) -> None:
    for name in ("setup.cfg", "pyproject.toml", "constraints.txt"):
        (tmp_path / name).touch()
    folder = tmp_path / "runs" / "quickstart"
    for name in left:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()

    told = subprocess.run(
        ["make", "--dry-run", "--file", MAKEFILE, "quickstart"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()

    # Within `make test` there are lines around it that tell the folder.
    (run,) = [line for line in told if "rllib-ride run tune_configs/quickstart.yaml" in line]
    assert ("--resume" in run) is resumes
