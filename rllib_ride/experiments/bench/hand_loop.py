"""Runs a clone's hand-written loop, `benchmarks/hand_loop.py`, in a separate process."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import rllib_ride
from rllib_ride.experiments.errors import ConfigError
from rllib_ride.wording import last_line

METHODS = ("ride", "none")


def hand_loop_script() -> Path:
    """The path of the script.

    Raises:
        ConfigError: This package is not used from a clone.
    """
    script = Path(rllib_ride.__file__).parents[1] / "benchmarks" / "hand_loop.py"
    if not script.is_file():
        raise ConfigError(f"--compare needs a clone of the repository: there is no {script}")
    return script


def run_hand_loop(
    *, seconds: float, method: str, env: str, num_envs: int, unroll_length: int
) -> dict[str, Any]:
    """Runs the loop and returns what it prints: `fps`, and the figures it is computed from.

    Args:
        seconds: Seconds to train.
        method: One of `METHODS`.
        env: A MiniGrid id.
        num_envs: Number of environments, which is also the number of sequences per batch.
        unroll_length: Steps per sequence.

    Raises:
        RuntimeError: The loop fails.
    """
    arguments = {
        "--seconds": seconds,
        "--method": method,
        "--env": env,
        "--num-envs": num_envs,
        "--unroll-length": unroll_length,
    }
    options = [str(word) for pair in arguments.items() for word in pair]
    command = [sys.executable, str(hand_loop_script()), *options, "--json"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"benchmarks/hand_loop.py failed: {last_line(done.stderr)}")
    return json.loads(done.stdout)
