"""Starts Ray here, or joins a cluster, and leaves it again.

Fails fast if nothing listens, where Ray waits minutes. A signal waits until Ray is up or down.
"""

from __future__ import annotations

import importlib.util
import logging
import os
import socket
from typing import Any

import ray

from rllib_ride.experiments.address import named_cluster
from rllib_ride.experiments.errors import ConfigError
from rllib_ride.experiments.tune_internals import (
    apart_from_signals,
    handlers_left,
    loopback_only,
    resolve_address,
)
from rllib_ride.interrupts import held_back
from rllib_ride.wording import told

_CONNECT_WITHIN_S = 2.0
_QUIET: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}


def start_ray(address: str | None) -> str | None:
    """Joins the cluster that `address` or `RAY_ADDRESS` names; starts Ray here if there is neither.

    Args:
        address: `HOST:PORT`, `auto` for the cluster that this machine is a node of, or `local` to
            start Ray here whatever `RAY_ADDRESS` is.

    Returns:
        The dashboard's `HOST:PORT`; None without a dashboard, which needs the extra `cluster`.

    Raises:
        ConfigError: There is no cluster there, this process cannot or may not join it, or Ray does
            not start here.
    """
    cluster = named_cluster(address)
    if cluster is None:
        # The dashboard comes with ray[default]; aiohttp_cors is one of its packages.
        return start_here(has_dashboard=importlib.util.find_spec("aiohttp_cors") is not None)
    wanted = cluster_address(cluster)
    try:
        with held_back(), handlers_left():
            return ray.init(address=wanted, **_QUIET).dashboard_url
    except ConnectionError as error:  # something listens there, but refuses us or is no Ray
        raise ConfigError(
            f"--address {wanted}: cannot be joined: {told(error)}. Is the token here that of the "
            f"cluster, and Ray's version {ray.__version__}? See docs/cluster.md"
        ) from error
    except (RuntimeError, ValueError, ray.exceptions.RayError) as error:
        # RuntimeError: other versions of Ray or Python there; RayError: a missing token.
        raise ConfigError(f"--address {wanted}: cannot be joined: {told(error)}") from error


def start_here(*, has_dashboard: bool, num_cpus: int | None = None) -> str | None:
    """Starts a Ray for this process alone.

    Args:
        has_dashboard: Whether to start Ray's dashboard too.
        num_cpus: Cores that Ray may allocate; None: all of this machine.

    Returns:
        The dashboard's `HOST:PORT`; None without a dashboard.

    Raises:
        ConfigError: Ray does not start.
    """
    if not has_dashboard:
        # Only the dashboard shows Ray's task events, of which every process keeps 10 MB.
        os.environ.setdefault("RAY_task_events_report_interval_ms", "0")
    try:
        with held_back(), loopback_only(), apart_from_signals(), handlers_left():
            # Without `local` Ray would join any cluster that was started on this machine.
            return ray.init(
                address="local", num_cpus=num_cpus, include_dashboard=has_dashboard, **_QUIET
            ).dashboard_url
    except Exception as error:  # Ray raises a bare Exception if it takes more than 30 s
        raise ConfigError(
            f"Ray does not start here: {told(error)} Is the machine busy with other things?"
        ) from error


def stop_ray() -> None:
    """Leaves the cluster, or ends the Ray that was started here.

    Interrupted in between, Ray may end this process with exit code 1 and no message.
    """
    with held_back():
        ray.shutdown()


def cluster_address(address: str) -> str:
    """`HOST:PORT` of the cluster that `address` names; checks that something listens there.

    Raises:
        ConfigError: It is no address, nothing listens there, or this machine is in no cluster.
    """
    if address.startswith("ray://"):
        raise ConfigError(
            f"--address {address}: Ray Client cannot carry Tune's callbacks. Run it on the "
            "cluster's head: ray submit cluster.yaml FILE.yaml"
        )
    try:
        found = resolve_address(address)
    except (ConnectionError, OSError, ValueError) as error:
        raise ConfigError(f"--address {address}: must be HOST:PORT or auto: {error}") from error
    if found is None:
        raise ConfigError(
            "--address auto: no Ray runs on this machine. Name the cluster's HOST:PORT, start one "
            "with `ray up cluster.yaml`, or leave --address out to train here"
        )
    try:
        knock(found, _CONNECT_WITHIN_S)
    except OSError as error:
        raise ConfigError(
            f"--address {address}: nothing answers at {found}: {error.strerror or error}. "
            "Is the cluster up (`ray up`), and is the port that of `ray start` (6379)?"
        ) from error
    except ValueError as error:
        raise ConfigError(f"--address {address}: must be HOST:PORT or auto") from error
    return found


def knock(address: str, within_s: float) -> None:
    """Opens a TCP connection to `HOST:PORT` and closes it.

    Raises:
        OSError: Nothing answers there within `within_s` seconds.
        ValueError: The port is no number, or the host name is invalid.
    """
    host, _, port = address.rpartition(":")
    socket.create_connection((host.strip("[]"), int(port)), within_s).close()
