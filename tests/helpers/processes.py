"""Processes and their sockets, on Linux and macOS."""

from __future__ import annotations

import importlib
from typing import Any

import ray  # noqa: F401  (brings psutil)

psutil = importlib.import_module("psutil")


def tree(pid: int) -> list[Any]:
    """A process and all its descendants."""
    root = psutil.Process(pid)
    return [root, *root.children(recursive=True)]


def listening(processes: list[Any]) -> dict[str, str]:
    """The TCP addresses that the processes listen on, each with its process's command."""
    found = {}
    for process in processes:
        try:
            command = " ".join(process.cmdline())[-80:]
            sockets = process.net_connections(kind="tcp")
        except psutil.NoSuchProcess:
            continue
        for socket in sockets:
            if socket.status == psutil.CONN_LISTEN:
                found[f"{socket.laddr.ip}:{socket.laddr.port}"] = command
    return found
