"""The soak's verdict: sees a slow leak, and is not fooled by noise, spikes or Count's table."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from helpers.scripts import load_script
from helpers.trials import result

SAMPLES = 150  # 25 minutes of them

soak = load_script("benchmarks/soak.py")


def memory(growth: float, *, seed: int) -> list[float]:
    """800 MB that grow evenly, with noise, and a checkpoint's 60 MB more in one of six samples."""
    rng = np.random.default_rng(seed)
    steady = 800 * (1 + growth * np.linspace(0, 1, SAMPLES)) + rng.normal(0, 4, SAMPLES)
    return list(steady + 60 * (rng.random(SAMPLES) < 1 / 6))


@pytest.mark.parametrize("seed", range(20))
def test_a_leak_of_three_percent_is_seen_and_noise_is_not_one(seed: int) -> None:
    leak = soak.judge("x", memory(0.03, seed=seed))
    assert leak.fails and leak.growth == pytest.approx(0.03, abs=0.01)
    flat = soak.judge("x", memory(0.0, seed=seed))
    assert not flat.fails and abs(flat.growth) < 0.01


def test_a_step_in_the_middle_is_growth() -> None:
    assert soak.judge("x", [100.0] * 75 + [103.0] * 75).fails


def test_one_descriptor_more_is_no_growth_and_two_are() -> None:
    assert not soak.judge("fds/driver", [30.0] * 75 + [30.5] * 75, whole=True).fails
    assert soak.judge("fds/driver", [30.0] * 75 + [32.0] * 75, whole=True).fails


def test_what_comes_into_being_is_growth() -> None:
    assert soak.judge("object_store_mb", [0.0] * 75 + [10.0] * 75).growth == 1.0


def test_the_tables_size_is_that_of_the_table(tmp_path: Path) -> None:
    from rllib_ride.intrinsic.visit_table import VisitTable

    table = VisitTable()
    for first in range(0, 300_000, 50_000):
        table.visit(np.arange(first, first + 50_000))
        assert soak.table_mb(len(table)) == table._slots.nbytes / 2**20

    trial = tmp_path / "count"
    trial.mkdir()
    told = result(100, 1.0)
    told["learners"]["intrinsic"]["visited_states"] = 300_000.0
    line = json.dumps(told)
    (trial / "result.json").write_text(f"{line}\n{line}\n{line[:50]}")
    assert soak._table_mb(tmp_path) == 4.0


def test_counts_table_is_taken_off_and_stays_within_its_bound() -> None:
    tables = np.repeat([8.0, 16.0, 32.0], 50)
    samples = [
        {"minutes": n / 6, "memory_mb/trial": 500.0 + table, "disk_mb": 2.0 * n, "table_mb": table}
        for n, table in enumerate(tables)
    ]
    assert not any(judged.fails for judged in soak.verdict(samples, "count"))
    assert [j.name for j in soak.verdict(samples, "ride") if j.fails] == ["memory_mb/trial"]
    samples[-1]["table_mb"] = 2048.0
    assert [j.name for j in soak.verdict(samples, "count") if j.fails] == ["table_mb"]


def test_a_process_is_sampled_by_kind(tmp_path: Path) -> None:
    psutil = soak.psutil

    (tmp_path / "file").write_bytes(b"x" * 2**20)
    hold = "held = b'x' * 2**25; print(flush=True); input()"
    alone = [sys.executable, "-c", hold]
    with subprocess.Popen(alone, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        found = soak.sample(psutil.Process(process.pid), tmp_path)
        process.communicate(b"\n")
    assert found["memory_mb/driver"] == pytest.approx(found["memory_mb/all"])
    assert found["memory_mb/driver"] > 32 and found["fds/driver"] >= 3
    assert found["threads/driver"] >= 1 and found["disk_mb"] >= 1
    assert soak.kind(["ray::TrialTrainable.train"]) == "trial"
    assert soak.kind(["ray::IDLE"]) == "workers"
    assert soak.kind(["/x/raylet", "--y"]) == "ray"
