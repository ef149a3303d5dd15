"""`ray up`, `ray submit` and `ray down` for real, on machines that are namespaces of this one."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parent / "two_machines.sh"
PROGRAMS = ("ip", "nsenter", "rsync", "ssh", "sshd", "unshare")


def missing() -> str | None:
    """Why it cannot be done here."""
    if os.geteuid() != 0:
        return "makes network namespaces, which needs root"
    path = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin"])
    absent = [program for program in PROGRAMS if shutil.which(program, path=path) is None]
    if absent:
        return f"needs {', '.join(absent)} (packages openssh-server, rsync, iproute2)"
    private = ["unshare", "--net", "--uts", "--mount", "--pid", "--fork", "--mount-proc", "true"]
    if subprocess.run(private, capture_output=True).returncode:
        return "namespaces cannot be made here"
    return None


@pytest.mark.slow
@pytest.mark.cluster
def test_a_submitted_experiment_trains_on_both_machines(tmp_path):
    if reason := missing():
        pytest.skip(reason)

    with (tmp_path / "log.txt").open("w") as log:
        done = subprocess.run(
            [SCRIPT, tmp_path],
            env={**os.environ, "PYTHON": sys.executable},
            stdout=log,
            stderr=subprocess.STDOUT,
            timeout=900,
        )

    told = (tmp_path / "log.txt").read_text(errors="replace")
    assert done.returncode == 0, told[-5000:]
    assert "### all as it should be" in told
    nodes = (tmp_path / "laptop/home/clone/nodes.txt").read_text()
    assert "10.77.0.11" in nodes and "10.77.0.12" in nodes
