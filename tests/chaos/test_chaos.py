"""A few faults of each kind; `make chaos` runs many."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from chaos.faults import KINDS
from chaos.machine import missing

COMMAND = Path(__file__).parent / "run.py"


@pytest.mark.slow
def test_every_kind_of_fault_leaves_a_run_that_ends_in_results(tmp_path):
    if reason := missing():
        pytest.skip(reason)
    out, log, number = tmp_path / "faults.jsonl", tmp_path / "log.txt", 2 * len(KINDS)

    with log.open("w") as file:
        subprocess.run(
            [sys.executable, COMMAND, "--faults", str(number), "--seed", "1", "--out", out],
            stdout=file,
            stderr=subprocess.STDOUT,
            timeout=3600,
        )

    records = [json.loads(line) for line in out.read_text().splitlines()]
    assert [record for record in records if record["problems"]] == [], log.read_text()
    assert {record["kind"] for record in records} == set(KINDS)
