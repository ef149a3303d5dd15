"""The properties of this folder on many more examples, new ones each time."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.slow
def test_every_property_on_many_examples() -> None:
    options = ["-q", "--hypothesis-profile=thorough", "--hypothesis-show-statistics"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, str(Path(__file__).parent)],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
    )
    print(done.stdout)
    assert done.returncode == 0, done.stdout[-5000:]
