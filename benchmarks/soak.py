"""Tests a long run for growth: trains one trial and monitors its processes. Linux only.

    python benchmarks/soak.py --minutes 30                       # RIDE
    python benchmarks/soak.py --minutes 30 --method count        # Count, and its table

`rllib-ride run` trains one trial of the preset `tuned` in its own process. Every ten seconds that
process and all processes below it are sampled, by kind:

    driver      the command: Tune, curves, table, TensorBoard
    trial       environments and learner
    workers     idle processes of Ray
    ray         raylet, GCS, dashboard and agents

- memory: the anonymous part of PSS. File-backed pages, such as libraries, are not growth, and a
  process's share of them depends on what else runs on the machine;
- file descriptors and threads;
- the object store: pages of its shared memory that are in use;
- the run's folder on disk: reported but not judged, since results and curve grow by design.

The first five minutes (`--settle`) are not judged. Growth is the median of the last third minus
that of the first third, times 3 / 2, because the middles of these thirds are two thirds of the time
apart: for a steady leak, that is its total growth. Up to a third of the samples may be spikes, such
as during a checkpoint, without moving a median by more than the other samples vary. A single step
in the last sixth goes unnoticed; a longer run shows it. Growth of more than 2% fails; for
descriptors and threads, it must also be more than one.

For Count, the memory of its table is subtracted from the trial's: 8 bytes per slot, a power of two
of slots, at most three quarters of them used. The table must stay within its bound of 1 GiB. The
number of states comes from the trial's own results.

Ctrl-C ends the run early and judges the samples so far. Exit code: 0 no growth, 1 growth or a
failed run.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import ray  # noqa: F401  (brings psutil)

from rllib_ride.experiments.curve import read_curve
from rllib_ride.experiments.scalars import scalars

psutil = importlib.import_module("psutil")

LIMIT = 0.02
TABLE_BOUND_MB = 1024.0
MB = 2**20
EXPERIMENT = """
experiment: soak
env: {env}
method: {method}
preset: tuned
seed: 1
frames: 1e9
"""


@dataclass(frozen=True)
class Judged:
    """One quantity over the run.

    Attributes:
        name: What it is.
        first: Median of the first third after settling.
        last: Median of the last third.
        growth: Growth over the whole time, as a fraction of `first`.
        fails: Whether that is too much.
    """

    name: str
    first: float
    last: float
    growth: float
    fails: bool


def judge(name: str, values: Sequence[float], *, whole: bool = False) -> Judged:
    """Judges samples taken at equal intervals after settling; see the top of the file.

    Args:
        name: What the samples measure.
        values: The samples, at least three.
        whole: Whether they are counts; growth by one is then allowed.
    """
    third = max(1, len(values) // 3)
    first, last = median(values[:third]), median(values[-third:])
    more = 1.5 * (last - first)
    growth = more / first if first else float(more > 0)
    return Judged(name, first, last, growth, growth > LIMIT and not (whole and more <= 1))


def table_mb(num_states: float) -> float:
    """Memory of Count's table with `num_states` states."""
    slots = 2**16
    while slots * 3 // 4 < num_states:
        slots *= 2
    return 8 * slots / MB


def kind(command: Sequence[str]) -> str:
    """The kind of a process below the driver, by its command line."""
    line = " ".join(command)
    if line.startswith("ray::TrialTrainable"):
        return "trial"
    return "workers" if line.startswith("ray::") else "ray"


def sample(driver: Any, run: Path) -> dict[str, float]:
    """Samples all processes once: `memory_mb/trial`, `fds/driver` and so on."""
    found: dict[str, float] = defaultdict(float)
    for process in [driver, *driver.children(recursive=True)]:
        try:
            of = "driver" if process == driver else kind(process.cmdline())
            seen = {
                f"memory_mb/{of}": _private_mb(process.pid),
                f"fds/{of}": process.num_fds(),
                f"threads/{of}": process.num_threads(),
                "object_store_mb": _plasma_mb(process.pid),
            }
        except (psutil.Error, OSError):  # it has just ended
            continue
        for name, value in seen.items():
            found[name] += value
    for what in ("memory_mb", "fds", "threads"):
        found[f"{what}/all"] = sum(v for name, v in found.items() if name.startswith(f"{what}/"))
    found["disk_mb"] = sum(_blocks(path) for path in run.rglob("*")) * 512 / MB
    found["table_mb"] = _table_mb(run)
    return dict(found)


def verdict(samples: Sequence[Mapping[str, float]], method: str) -> list[Judged]:
    """Judges all samples taken after settling, except the disk's."""
    judged = []
    for name in sorted({name for entry in samples for name in entry}):
        if name in ("disk_mb", "table_mb", "minutes", "frames"):
            continue
        values = [entry.get(name, 0.0) for entry in samples]
        if method == "count" and name in ("memory_mb/trial", "memory_mb/all"):
            name += ", less the table"
            values = [v - entry["table_mb"] for v, entry in zip(values, samples, strict=True)]
        judged.append(judge(name, values, whole=name.startswith(("fds", "threads"))))
    if method == "count":
        most = max(entry["table_mb"] for entry in samples)
        judged.append(Judged("table_mb", samples[0]["table_mb"], most, 0.0, most > TABLE_BOUND_MB))
    return judged


def soak(options: argparse.Namespace, folder: Path) -> list[dict[str, float]]:
    """Trains for the given minutes, or until Ctrl-C; returns samples, each with its `minutes`.

    Raises:
        RuntimeError: the run ended by itself, or did not end properly when interrupted.
    """
    (folder / "soak.yaml").write_text(EXPERIMENT.format(env=options.env, method=options.method))
    log = folder / "log.txt"
    with log.open("w") as output:
        command = [sys.executable, "-m", "rllib_ride.cli", "run", "soak.yaml"]
        process = subprocess.Popen(
            command, cwd=folder, stdout=output, stderr=output, start_new_session=True
        )
    run, driver = folder / "runs" / "soak", psutil.Process(process.pid)
    samples: list[dict[str, float]] = []
    began = None
    try:
        with contextlib.suppress(KeyboardInterrupt):
            while began is None or time.monotonic() - began < 60 * options.minutes:
                time.sleep(options.every)
                if process.poll() is not None:
                    raise RuntimeError(f"the run ended: {log.read_text()}")
                frames = _frames(run)
                if not frames:
                    continue
                began = began or time.monotonic()
                minutes = (time.monotonic() - began) / 60
                samples.append({"minutes": minutes, "frames": frames, **sample(driver, run)})
    finally:
        process.send_signal(signal.SIGINT)
        code = process.wait(timeout=120)
    if code != 130:
        raise RuntimeError(f"the run did not end in order: {log.read_text()}")
    return samples


def _frames(run: Path) -> float:
    """Frames trained so far."""
    rows = [row for path in run.glob("*/curve.csv") for row in read_curve(path)[-1:]]
    return float(rows[0]["frames"]) if rows else 0.0


def _table_mb(run: Path) -> float:
    """Memory of Count's table, from the last complete result that Tune wrote; 0 without one."""
    for path in run.glob("*/result.json"):
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - MB))
            lines = file.read().splitlines()[:-1]  # the last may be incomplete
        if lines[1:]:
            states = scalars(json.loads(lines[-1])).get("intrinsic/visited_states")
            return 0.0 if states is None else table_mb(states)
    return 0.0


def _private_mb(pid: int) -> float:
    rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
    (line,) = (line for line in rollup.splitlines() if line.startswith("Pss_Anon:"))
    return float(line.split()[1]) * 1024 / MB


def _plasma_mb(pid: int) -> float:
    """Memory in use of Ray's object store: the allocated pages of the raylet's backing file."""
    blocks = 0
    for fd in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):  # closed meanwhile
            if Path(os.readlink(fd)).name.startswith("plasma"):
                blocks += fd.stat().st_blocks
    return blocks * 512 / MB


def _blocks(path: Path) -> int:
    try:
        return path.lstat().st_blocks
    except FileNotFoundError:  # a checkpoint that is no longer the last
        return 0


def _print(samples: Sequence[Mapping[str, float]], judged: Iterable[Judged]) -> None:
    print(f"{'after settling':34}{'first':>10}{'last':>10}{'growth':>9}")
    for entry in judged:
        fails = "  FAILS" if entry.fails else ""
        print(f"{entry.name:34}{entry.first:10.1f}{entry.last:10.1f}{entry.growth:9.1%}{fails}")
    first, last = samples[0], samples[-1]
    minutes = last["minutes"] - first["minutes"]
    print(f"frames/s {(last['frames'] - first['frames']) / (60 * minutes):,.0f}")
    hour = 60 * (last["disk_mb"] - first["disk_mb"]) / minutes
    print(f"disk {first['disk_mb']:.1f} to {last['disk_mb']:.1f} MB, {hour:.1f} MB an hour")


def main() -> int:
    """Trains, samples, judges."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--settle", type=float, default=5.0, help="minutes that are not judged")
    parser.add_argument("--every", type=float, default=10.0, help="seconds between samples")
    parser.add_argument("--method", default="ride")
    parser.add_argument("--env", default="MiniGrid-MultiRoom-N7-S4-v0")
    parser.add_argument("--json", action="store_true", help="print one document, samples included")
    options = parser.parse_args()

    with tempfile.TemporaryDirectory() as folder:
        samples = soak(options, Path(folder))
    settled = [entry for entry in samples if entry["minutes"] >= options.settle]
    if len(settled) < 3:
        sys.exit(f"{len(settled)} samples after the first {options.settle:g} minutes: too few")
    judged = verdict(settled, options.method)
    grows = any(entry.fails for entry in judged)
    if options.json:
        document = {
            "method": options.method,
            "env": options.env,
            "grows": grows,
            "judged": [vars(entry) for entry in judged],
            "samples": samples,
        }
        print(json.dumps(document, indent=1))
    else:
        _print(settled, judged)
        print("it grows" if grows else "no growth")
    return int(grows)


if __name__ == "__main__":
    sys.exit(main())
