"""Ctrl-C and SIGTERM at any moment of a run's start."""

from __future__ import annotations

import random
import signal
import subprocess
from pathlib import Path

import pytest

from helpers.command import start
from rllib_ride.interrupts import SIGNALS

ENDLESS = """
experiment: endless
env: MiniGrid-Empty-5x5-v0
method: ride
preset: tuned
seed: 1
frames: 1e9
"""


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12))
def test_it_ends_with_130_in_words(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    (tmp_path / "endless.yaml").write_text(ENDLESS)
    process = start("run", "endless.yaml", folder=tmp_path)
    pause = rng.uniform(2.0, 12.0)  # a busy machine needs some of it to start Python
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(pause)

    process.send_signal(signum := rng.choice(SIGNALS))

    _, err = process.communicate(timeout=120)
    told = f"{signal.Signals(signum).name} after {pause:.1f} s: {err}"
    assert process.returncode == 130, told
    assert "interrupted" in err.splitlines()[-1], told
    assert "Traceback" not in err and "logging.cc" not in err, told
