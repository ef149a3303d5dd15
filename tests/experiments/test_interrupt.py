"""Ctrl-C and SIGTERM: trials are asked for checkpoints, and the run ends once they have saved."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from rllib_ride.experiments.interrupt import InterruptCallback
from rllib_ride.interrupts import SIGNALS, held_back, interrupt, interrupts_raised, raise_swallowed

RUNNING, PENDING = "RUNNING", "PENDING"


@pytest.fixture
def ended() -> Iterator[list[int]]:
    """The signals that Tune has received; restores the handlers afterwards."""
    told: list[int] = []
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1)
    before = {number: signal.getsignal(number) for number in numbers}
    signal.signal(signal.SIGUSR1, lambda number, frame: told.append(number))
    yield told
    for number, handler in before.items():
        signal.signal(number, handler)


def trial(name: str, status: str = RUNNING) -> Any:
    return SimpleNamespace(trial_id=name, status=status)


def report(callback: InterruptCallback, who: Any) -> dict[str, Any]:
    result: dict[str, Any] = {"frames": 3}
    callback.on_trial_result(0, [], who, result)
    return result


def save(callback: InterruptCallback, who: Any) -> None:
    callback.on_checkpoint(0, [], who, None)  # type: ignore[arg-type]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_ends_when_each_running_trial_has_saved(ended: list[int], number: int) -> None:
    callback = InterruptCallback()
    callback.setup()
    one, two, waiting = trial("1"), trial("2"), trial("3", PENDING)
    trials = [one, two, waiting]
    save(callback, one)  # a regular checkpoint
    callback.on_step_end(0, trials)
    assert report(callback, one) == {"frames": 3} and not ended

    os.kill(os.getpid(), number)

    callback.on_step_end(0, trials)
    assert report(callback, one) == {"frames": 3, "should_checkpoint": True}
    save(callback, one)
    callback.on_step_end(0, trials)
    assert not ended
    report(callback, two)
    save(callback, two)
    callback.on_step_end(0, trials)
    assert ended == [signal.SIGUSR1]


def test_a_trial_that_ends_meanwhile_is_not_waited_for(ended: list[int]) -> None:
    callback = InterruptCallback()
    callback.setup()
    one = trial("1")
    os.kill(os.getpid(), signal.SIGTERM)
    callback.on_step_end(0, [one])
    assert not ended
    one.status = "TERMINATED"
    callback.on_step_end(0, [one])
    assert ended == [signal.SIGUSR1]


def test_a_second_signal_ends_at_once(ended: list[int]) -> None:
    with interrupts_raised():
        InterruptCallback().setup()
        os.kill(os.getpid(), signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGTERM)
    assert not ended


def test_handlers_are_afterwards_as_before(ended: list[int]) -> None:
    before = [signal.getsignal(number) for number in SIGNALS]
    with interrupts_raised():
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGTERM)
        with pytest.raises(KeyboardInterrupt):
            InterruptCallback().setup()
    assert [signal.getsignal(number) for number in SIGNALS] == before


def test_ctrl_c_that_is_ignored_stays_so(ended: list[int]) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with interrupts_raised():
        meanwhile = [signal.getsignal(number) for number in SIGNALS]
        signal.raise_signal(signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGTERM)
    assert meanwhile == [signal.SIG_IGN, interrupt]
    assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_that_an_import_swallows_ends_the_run_before_it_trains(
    ended: list[int], number: int
) -> None:
    with interrupts_raised():
        with contextlib.suppress(BaseException):
            os.kill(os.getpid(), number)
        with pytest.raises(KeyboardInterrupt):
            InterruptCallback().setup()
    with interrupts_raised():  # another run's
        InterruptCallback().setup()
    assert not ended


def test_one_that_an_import_of_the_command_swallows_ends_the_run_before_ray_starts(
    ended: list[int],
) -> None:
    reached = False
    with interrupts_raised():  # the command's
        with contextlib.suppress(BaseException):
            signal.raise_signal(signal.SIGINT)
        with pytest.raises(KeyboardInterrupt), interrupts_raised():  # the run's
            reached = True
    assert not reached


def test_while_ray_starts_a_first_signal_waits_and_a_second_does_not(ended: list[int]) -> None:
    reached = 0
    with interrupts_raised():
        with pytest.raises(KeyboardInterrupt), held_back():
            signal.raise_signal(signal.SIGTERM)
            reached = 1
        with pytest.raises(KeyboardInterrupt), held_back():
            signal.raise_signal(signal.SIGINT)
            reached = 2
    with interrupts_raised(), held_back():
        pass
    assert reached == 1


def test_while_ray_stops_the_second_signal_of_a_run_waits_too(ended: list[int]) -> None:
    reached = False
    with interrupts_raised():
        InterruptCallback().setup()
        signal.raise_signal(signal.SIGINT)
        with pytest.raises(KeyboardInterrupt), held_back():
            signal.raise_signal(signal.SIGINT)
            reached = True
    assert reached


def test_a_swallowed_interrupt_leaves_no_traceback(
    ended: list[int], capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "unraisablehook", sys.__unraisablehook__)

    class Finalized:
        def __init__(self, does: Callable[[], object]) -> None:
            self.does = does

        def __del__(self) -> None:
            self.does()

    with interrupts_raised():
        Finalized(lambda: signal.raise_signal(signal.SIGINT))
        with pytest.raises(KeyboardInterrupt):
            raise_swallowed()
        Finalized(lambda: 1 / 0)
    told = capfd.readouterr().err
    assert "KeyboardInterrupt" not in told
    assert "ZeroDivisionError" in told
