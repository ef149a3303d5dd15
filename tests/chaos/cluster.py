"""A Ray cluster of two nodes with one CPU each, on a campaign's private machine."""

from __future__ import annotations

import os
import secrets
import subprocess
import sys

from chaos import machine

PORT = 6379
ADDRESS = f"127.0.0.1:{PORT}"
_DAEMONS = ("gcs_server", "raylet", "/ray/", "ray::DashboardAgent", "ray::RuntimeEnvAgent")


class Cluster:
    """A head and a worker, each with its own raylet."""

    def __init__(self) -> None:
        # For every process that talks to the cluster, including the command.
        os.environ.setdefault("RAY_AUTH_MODE", "token")
        os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex(32))
        # A node counts as dead after about 6 seconds, not after half a minute.
        os.environ.setdefault("RAY_health_check_period_ms", "1000")
        os.environ.setdefault("RAY_health_check_timeout_ms", "3000")
        os.environ.setdefault("RAY_health_check_failure_threshold", "3")

    def start(self) -> None:
        """Starts both nodes."""
        _ray_start("--head", f"--port={PORT}", "--include-dashboard=false")
        self.start_worker()

    def start_worker(self) -> None:
        """Starts the worker node, like a machine that has come back."""
        _ray_start(f"--address={ADDRESS}")

    def raylet(self, *, head: bool) -> int | None:
        """The process id of a node's raylet, if it runs."""
        raylets = {
            pid: "--head" in title.split()
            for pid, title in machine.processes().items()
            if "/raylet/raylet " in title
        }
        return next((pid for pid, is_head in raylets.items() if is_head == head), None)

    def head(self) -> list[int]:
        """The head's own processes: its raylet and those that hold the cluster's state."""
        raylet = self.raylet(head=True)
        return [*filter(None, [raylet]), *machine.titled("gcs_server", "monitor.py")]

    def daemons(self) -> list[int]:
        """The nodes' own processes, which outlive a run."""
        return machine.titled(*_DAEMONS, "ray::IDLE")


def _ray_start(*options: str) -> None:
    ray = [sys.executable, "-m", "ray.scripts.scripts", "start", *options]
    quiet = ["--num-cpus=1", "--disable-usage-stats", "--node-ip-address=127.0.0.1"]
    done = subprocess.run([*ray, *quiet], capture_output=True, text=True, timeout=90)
    if done.returncode:
        raise RuntimeError(f"ray start {options}: {done.stdout[-1500:]}{done.stderr[-1500:]}")
