"""A campaign's private machine: its own namespaces of processes, network and mounts, by unshare(1).

Its network leads nowhere, and it sees no process of its host. So every process in it belongs to the
campaign, no fault can hit another Ray, and the kernel removes everything when the campaign ends,
however it ends.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import NoReturn

TESTS = Path(__file__).resolve().parents[1]
_PROGRAMS = ("unshare", "ip", "mount", "bash")
_PRIVATE = ("unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc")
# The address leads nowhere, but Ray complains if it finds none.
_NETWORK = (
    "ip link set lo up; ip link add lan type bridge; ip addr add 10.78.0.1/24 dev lan;"
    "ip link set lan up; ip route add default via 10.78.0.2"
)
_LISTENING = "0A"  # in /proc/net/tcp


def missing() -> str | None:
    """Why a private machine is not possible here; None if it is."""
    path = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/sbin"])
    if absent := [name for name in _PROGRAMS if shutil.which(name, path=path) is None]:
        return f"needs {', '.join(absent)} (packages util-linux, iproute2)"
    if subprocess.run([*_private(), "true"], capture_output=True).returncode:
        return "namespaces cannot be made (as root, or where users may make namespaces)"
    return None


def enter(module: str, args: list[str]) -> NoReturn:
    """Replaces this process by `python -m module args` on a new private machine."""
    # bash is process 1 there, and reaps processes whose parents were killed.
    script = f'{_NETWORK}; "$@"; exit $?'
    paths = [str(TESTS), str(TESTS.parent), os.environ.get("PYTHONPATH", "")]
    python = [sys.executable, "-m", module, *args]
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("RAY_")},
        "PATH": os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/sbin"]),
        "PYTHONPATH": os.pathsep.join(filter(None, paths)),
    }
    os.execvpe("unshare", [*_private(), "bash", "-c", script, "-", *python], environment)


def _private() -> list[str]:
    as_root = [] if os.geteuid() == 0 else ["--map-root-user"]
    return [_PRIVATE[0], *as_root, *_PRIVATE[1:]]


def processes() -> dict[int, str]:
    """Title or command line of every process but the campaign's own, by process id."""
    found = {}
    for folder in Path("/proc").iterdir():
        if not folder.name.isdecimal() or int(folder.name) in (1, os.getpid()):
            continue
        with contextlib.suppress(OSError):  # it has just ended
            if (folder / "stat").read_text().rpartition(")")[2].split()[0] != "Z":
                title = (folder / "cmdline").read_bytes().replace(b"\0", b" ")
                found[int(folder.name)] = title.decode(errors="replace").strip()
    return found


def titled(*words: str) -> list[int]:
    """Ids of the processes whose title contains one of these words."""
    return [pid for pid, title in processes().items() if any(word in title for word in words)]


def listening() -> set[int]:
    """The TCP ports that any process listens on."""
    ports = set()
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        with contextlib.suppress(OSError):  # no IPv6
            for line in Path(table).read_text().splitlines()[1:]:
                _, address, _, state, *_ = line.split()
                if state == _LISTENING:
                    ports.add(int(address.rpartition(":")[2], 16))
    return ports


def catches(pid: int, signum: int) -> bool:
    """Whether a process has its own handler for a signal."""
    with contextlib.suppress(OSError):  # it has just ended
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("SigCgt:"):
                return bool(int(line.split()[1], 16) >> (signum - 1) & 1)
    return False


def kill(pids: Iterable[int], signum: int = signal.SIGKILL) -> None:
    """Signals processes that may have ended by now."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signum)


@contextlib.contextmanager
def small_disk(folder: Path, megabytes: int):
    """Mounts a separate file system of this size over a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    size = f"size={megabytes}m"
    subprocess.run(["mount", "-t", "tmpfs", "-o", size, "chaos", str(folder)], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)
