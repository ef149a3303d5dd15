"""A Ray that a run starts is reachable from this machine only, and leaves signals to the run."""

from __future__ import annotations

import ipaddress
import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

STARTS = """
import contextlib, json, os, signal, sys
import ray
from helpers.processes import listening, tree
from rllib_ride.experiments.bench.train import local_ray
from rllib_ride.experiments.connect import start_ray

came = []
signal.signal(signal.SIGTERM, lambda number, frame: came.append(number))
started = contextlib.ExitStack()
start_ray(None) if sys.argv[1] == "run" else started.enter_context(local_ray([]))
signal.raise_signal(signal.SIGTERM)

@ray.remote
class Trial:
    def pid(self): return os.getpid()

trial = Trial.remote()
ray.get(trial.pid.remote())
own, *others = tree(os.getpid())
beside = [other.name() for other in others if os.getpgid(other.pid) == os.getpgid(own.pid)]
print(json.dumps([listening([own, *others]), beside, came]))
"""


@pytest.mark.parametrize("verb", ["run", "bench"])
def test_a_local_ray_is_on_loopback_in_other_process_groups_and_leaves_our_handlers(
    monkeypatch: pytest.MonkeyPatch, verb: str
) -> None:
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    done = subprocess.run(
        [sys.executable, "-c", STARTS, verb],
        cwd=Path(__file__).parents[1],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    sockets, beside, came = json.loads(done.stdout.splitlines()[-1])

    assert len(sockets) >= 4, sockets  # raylet, GCS, trial, driver
    assert {at: by for at, by in sockets.items() if not is_loopback(at.rpartition(":")[0])} == {}
    assert beside == []
    assert came == [signal.SIGTERM]


def is_loopback(host: str) -> bool:
    """Whether an address is loopback: IPv4, IPv6, or IPv4 in IPv6 (`::ffff:127.0.0.1`)."""
    address = ipaddress.ip_address(host)
    return (getattr(address, "ipv4_mapped", None) or address).is_loopback
