"""A lost head is reported once; one that answers, or is back in time, is not reported."""

from __future__ import annotations

import socket
import threading

import pytest

from rllib_ride.experiments import lost_head


@pytest.fixture(autouse=True)
def soon(monkeypatch):
    monkeypatch.setattr(lost_head, "_EVERY_S", 0.02)
    monkeypatch.setattr(lost_head, "_LOST_AFTER_S", 0.5)


@pytest.fixture
def told():
    """The reports, and an event that is set when there is one."""
    messages, event = [], threading.Event()

    def tell(message: str) -> None:
        messages.append(message)
        event.set()

    return messages, event, tell


def test_a_head_that_goes_is_told_in_one_line_with_its_address(told):
    messages, event, tell = told
    server = socket.create_server(("127.0.0.1", 0))
    address = f"127.0.0.1:{server.getsockname()[1]}"

    with lost_head.watched_head(address, tell):
        assert not event.wait(1.0)  # it answers
        server.close()
        assert event.wait(5.0)

    (message,) = messages
    assert message.startswith(address) and "\n" not in message


def test_one_that_is_back_in_time_is_not_told(told):
    _, event, tell = told
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]

    with lost_head.watched_head(f"127.0.0.1:{port}", tell):
        assert not event.wait(0.1)  # nothing answers, but not for long enough
        with socket.create_server(("127.0.0.1", port)):
            assert not event.wait(1.0)


def test_nothing_is_told_of_a_run_that_has_ended(told):
    _, event, tell = told
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"

    with lost_head.watched_head(address, tell):
        pass

    assert not event.wait(1.0)
