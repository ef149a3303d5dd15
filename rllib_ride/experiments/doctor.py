"""Examines what this machine and a cluster have of what the package needs; changes nothing."""

from __future__ import annotations

import importlib.util
import os
import platform
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Literal

from rllib_ride.experiments.address import named_cluster
from rllib_ride.experiments.errors import ConfigError
from rllib_ride.experiments.wandb_login import in_netrc
from rllib_ride.machine import num_cores

State = Literal["ok", "missing", "wrong"]

REQUIRED = ("ray", "torch", "gymnasium", "minigrid", "numpy", "numba")


@dataclass(frozen=True)
class Extra:
    """An optional extra: its purpose, its modules and its name for pip."""

    purpose: str
    modules: tuple[str, ...]
    extra: str

    @property
    def pip(self) -> str:
        """The command that installs it."""
        return f"pip install -c constraints.txt -e '.[{self.extra}]'"


EXTRAS = {
    "vizdoom": Extra("VizDoom's environments", ("vizdoom",), "vizdoom"),
    "mario": Extra("Super Mario Bros.", ("gym_super_mario_bros", "nes_py"), "mario"),
    "wandb": Extra("logging to Weights & Biases", ("wandb",), "wandb"),
    "report": Extra("intervals in reports", ("rliable", "wandb_workspaces"), "report"),
    "cluster": Extra("ray up, Ray's dashboard, AWS", ("aiohttp", "boto3"), "cluster"),
}


@dataclass(frozen=True)
class Finding:
    """The state of one part.

    Attributes:
        part: Its name, such as `torch` or `node 10.0.0.2`.
        required: Whether training needs it.
        state: `ok`, `missing` or `wrong`.
        detail: Its version, or what is wrong and how to fix it.
    """

    part: str
    required: bool
    state: State
    detail: str


def examine(address: str | None = None) -> list[Finding]:
    """Looks at this machine, and at the cluster at `address` if there is one."""
    return [
        _python(),
        *(_package(name) for name in ("rllib-ride", *REQUIRED)),
        *(_extra(name, extra) for name, extra in EXTRAS.items()),
        *_cluster(named_cluster(address)),
        _token(),
        _wandb_mode(),
    ]


def healthy(findings: Sequence[Finding]) -> bool:
    """Whether everything that training needs is `ok`."""
    return all(finding.state == "ok" for finding in findings if finding.required)


def _python() -> Finding:
    right = sys.version_info >= (3, 11)
    detail = platform.python_version() + ("" if right else ": 3.11 or newer is needed")
    return Finding("python", True, "ok" if right else "wrong", detail)


def _package(name: str) -> Finding:
    try:
        return Finding(name, True, "ok", metadata.version(name))
    except metadata.PackageNotFoundError:
        return Finding(name, True, "missing", "pip install -c constraints.txt -e .")


def _extra(name: str, extra: Extra) -> Finding:
    absent = [module for module in extra.modules if importlib.util.find_spec(module) is None]
    if absent:
        detail = f"{extra.purpose}; {', '.join(absent)} not installed: {extra.pip}"
        return Finding(name, False, "missing", detail)
    return Finding(name, False, "ok", extra.purpose)


def _cluster(address: str | None) -> list[Finding]:
    """Whether the cluster can be joined, and each node's state, resources and versions."""
    if address is None:
        detail = f"none asked for (--address); {num_cores()} cores here"
        return [Finding("ray cluster", False, "ok", detail)]
    import ray

    from rllib_ride.experiments import preflight
    from rllib_ride.experiments.connect import start_ray, stop_ray
    from rllib_ride.experiments.quiet import quiet_ray

    quiet_ray()
    try:
        start_ray(address)
    except ConfigError as error:
        return [Finding("ray cluster", True, "wrong", str(error))]
    try:
        here, told = preflight.versions(), preflight.node_versions()
        findings = [Finding("ray cluster", True, "ok", f"{address}, {len(told)} nodes alive")]
        for node in ray.nodes():
            where = node["NodeManagerAddress"]
            if not node["Alive"]:
                findings.append(Finding(f"node {where}", False, "wrong", "dead"))
                continue
            differing = preflight.differences(here, {where: told.get(where, "no answer")})
            detail = "; ".join(differing) or f"{preflight.told(node['Resources'])}, versions match"
            findings.append(Finding(f"node {where}", True, "wrong" if differing else "ok", detail))
        return findings
    finally:
        stop_ray()


def _token() -> Finding:
    """Where the cluster's token is; never the token itself."""
    if os.environ.get("RAY_AUTH_TOKEN"):
        return Finding("ray token", False, "ok", "in RAY_AUTH_TOKEN")
    path = Path(os.environ.get("RAY_AUTH_TOKEN_PATH") or "~/.ray/auth_token").expanduser()
    if path.is_file():
        return Finding("ray token", False, "ok", f"in {path}")
    detail = "needed for a cluster: ray get-auth-token --generate > /dev/null"
    return Finding("ray token", False, "missing", detail)


def _wandb_mode() -> Finding:
    """What `--wandb online` would do; says whether there is an API key, never shows it."""
    mode = os.environ.get("WANDB_MODE", "online")
    server = os.environ.get("WANDB_BASE_URL", "https://api.wandb.ai")
    has_key = bool(os.environ.get("WANDB_API_KEY")) or in_netrc(server)
    login = "logged in" if has_key else "no login"
    detail = f"off unless asked for (--wandb); then {mode}, {login}"
    return Finding("wandb mode", False, "ok", detail)
