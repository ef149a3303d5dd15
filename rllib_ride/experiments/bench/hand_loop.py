"""Runs the hand-written loop of a clone, `benchmarks/hand_loop.py`, in a process of its own."""

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
    """Where it is.

    Raises:
        ConfigError: If this is no clone.
    """
    script = Path(rllib_ride.__file__).parents[1] / "benchmarks" / "hand_loop.py"
    if not script.is_file():
        raise ConfigError(f"--compare needs a clone of the repository: there is no {script}")
    return script


def run_hand_loop(
    *, seconds: float, method: str, env: str, num_envs: int, unroll_length: int
) -> dict[str, Any]:
    """What the loop prints: `fps` and what it is from.

    Args:
        seconds: How long it trains.
        method: One of `METHODS`.
        env: A MiniGrid id.
        num_envs: Environments, the sequences a batch.
        unroll_length: Steps a sequence.

    Raises:
        RuntimeError: If it fails.
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
