"""Joining a cluster that does not exist fails at once, and a signal waits for Ray."""

from __future__ import annotations

import signal
import socket
import time
from types import SimpleNamespace

import pytest
import ray

from rllib_ride.experiments.address import named_cluster
from rllib_ride.experiments.connect import cluster_address, start_here, start_ray, stop_ray
from rllib_ride.experiments.errors import ConfigError
from rllib_ride.interrupts import interrupts_raised


@pytest.fixture(autouse=True)
def no_address(monkeypatch):
    monkeypatch.delenv("RAY_ADDRESS", raising=False)


def free_port() -> int:
    with socket.socket() as closed_again:
        closed_again.bind(("127.0.0.1", 0))
        return closed_again.getsockname()[1]


def test_an_address_where_nothing_listens_is_refused_at_once():
    port = free_port()
    began = time.monotonic()

    with pytest.raises(ConfigError, match=f"--address 127.0.0.1:{port}: nothing answers at .*refu"):
        start_ray(f"127.0.0.1:{port}")

    assert time.monotonic() - began < 10


def test_an_address_from_the_environment_is_checked_alike(monkeypatch):
    port = free_port()
    monkeypatch.setenv("RAY_ADDRESS", f"127.0.0.1:{port}")

    with pytest.raises(ConfigError, match=f":{port}: nothing answers"):
        start_ray(None)


@pytest.mark.parametrize(
    ("address", "of_environment", "named"),
    [
        (None, None, None),
        (None, "", None),
        (None, "local", None),
        ("local", "10.0.0.1:6379", None),
        (None, "10.0.0.1:6379", "10.0.0.1:6379"),
        ("auto", "local", "auto"),
    ],
)
def test_which_ray_is_meant(monkeypatch, address, of_environment, named):
    if of_environment is not None:
        monkeypatch.setenv("RAY_ADDRESS", of_environment)

    assert named_cluster(address) == named


def test_an_address_where_something_listens_is_taken():
    with socket.create_server(("0.0.0.0", 0)) as server:
        port = server.getsockname()[1]

        assert cluster_address(f"127.0.0.1:{port}").endswith(f":{port}")


@pytest.mark.parametrize(
    ("address", "told"),
    [
        ("nowhere", "must be HOST:PORT or auto"),
        (":6379", "must be HOST:PORT or auto"),
        ("127.0.0.1:port", "--address 127.0.0.1:port: must be HOST:PORT or auto"),
        ("a..b:6379", "--address a..b:6379: must be HOST:PORT or auto"),
        ("no-such-host.invalid:6379", "no-such-host.invalid"),
        ("ray://127.0.0.1:10001", "ray submit cluster.yaml"),
    ],
)
def test_what_is_no_address_is_told(address, told, caplog):
    with pytest.raises(ConfigError, match=told):
        cluster_address(address)

    assert not caplog.records


def test_auto_where_no_ray_runs(monkeypatch):
    monkeypatch.setattr("rllib_ride.experiments.connect.resolve_address", lambda address: None)

    with pytest.raises(ConfigError, match="--address auto: no Ray runs on this machine"):
        cluster_address("auto")


def test_a_cluster_that_does_not_know_us_may_have_another_token(monkeypatch):
    def refuse(address, **options):
        raise ConnectionError(f"Failed to connect to Ray cluster at {address}")

    monkeypatch.setattr(ray, "init", refuse)
    with socket.create_server(("0.0.0.0", 0)) as server:
        port = server.getsockname()[1]

        with pytest.raises(ConfigError, match=f":{port}: cannot be joined: Failed.*the token"):
            start_ray(f"127.0.0.1:{port}")


@pytest.mark.parametrize(
    ("name", "call"),
    [("init", lambda: start_here(has_dashboard=False)), ("shutdown", stop_ray)],
)
def test_a_signal_waits_until_ray_is_up_or_down(monkeypatch, name, call):
    finished = []

    def interrupted(**options):
        signal.raise_signal(signal.SIGTERM)
        finished.append(name)
        return SimpleNamespace(dashboard_url=None)

    monkeypatch.setattr(ray, name, interrupted)

    with interrupts_raised(), pytest.raises(KeyboardInterrupt):
        call()

    assert finished == [name]
