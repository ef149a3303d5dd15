"""Remote Learners do the same updates even if one of them is slow."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
import ray
from ray.rllib.utils.actor_manager import FaultAwareApply, FaultTolerantActorManager

from helpers.small_impala import config
from helpers.waiting import comes_true
from rllib_ride.rllib.ray_internals import update_all_learners_or_none

MOST_WAITING = 2


@ray.remote(num_cpus=0, max_concurrency=2 + MOST_WAITING)
class Learner(FaultAwareApply):
    """Runs updates unless it is held up."""

    def __init__(self) -> None:
        self._goes_on = threading.Event()
        self._goes_on.set()
        self._one_at_a_time = threading.Lock()
        self._updates: list[int] = []

    def update(self, number: int) -> None:
        with self._one_at_a_time:
            self._goes_on.wait()
            self._updates.append(number)

    def hold_up(self, held_up: bool) -> None:
        (self._goes_on.clear if held_up else self._goes_on.set)()

    def updates(self) -> list[int]:
        return self._updates


@pytest.fixture
def learners(ray_session: None) -> Iterator[list[Any]]:
    made = [Learner.remote() for _ in range(3)]
    yield made
    for learner in made:
        ray.kill(learner)


def managed(learners: list[Any], *, together: bool) -> FaultTolerantActorManager:
    manager = FaultTolerantActorManager(
        learners, max_remote_requests_in_flight_per_actor=MOST_WAITING
    )
    group = SimpleNamespace(is_local=False, _worker_manager=manager)
    if together:
        algorithm: Any = SimpleNamespace(learner_group=group)
        update_all_learners_or_none(algorithm=algorithm)
    return manager


def sent(manager: FaultTolerantActorManager, number: int) -> int:
    """Collects finished requests, then sends an update; returns how many Learners get it."""
    manager.fetch_ready_async_reqs(timeout_seconds=0.0)
    shards = [{"number": number}] * manager.num_actors()
    return manager.foreach_actor_async("update", kwargs=shards)


def free(manager: FaultTolerantActorManager, waiting: int) -> bool:
    """Whether all requests are finished except `waiting`, those of a held-up Learner."""
    manager.fetch_ready_async_reqs(timeout_seconds=0.0)
    return manager.num_outstanding_async_reqs() == waiting


@pytest.mark.parametrize("together", [True, False])
def test_while_one_is_held_up_none_goes_ahead(learners: list[Any], together: bool) -> None:
    """Without the callback, as in RLlib, the other two go ahead."""
    manager = managed(learners, together=together)
    ray.get(learners[1].hold_up.remote(True), timeout=30)
    assert [sent(manager, number) for number in range(MOST_WAITING)] == [3, 3]
    assert comes_true(lambda: free(manager, waiting=MOST_WAITING), 30)

    assert sent(manager, 2) == (0 if together else 2)
    ray.get(learners[1].hold_up.remote(False), timeout=30)
    assert comes_true(lambda: free(manager, waiting=0), 30)
    assert sent(manager, 3) == 3

    assert comes_true(lambda: free(manager, waiting=0), 30)
    done = ray.get([learner.updates.remote() for learner in learners], timeout=30)
    ahead = [0, 1, 3] if together else [0, 1, 2, 3]
    assert [sorted(numbers) for numbers in done] == [ahead, [0, 1, 3], ahead]


def test_an_algorithm_sends_to_all_or_none(build: Any) -> None:
    """The callback changes the right object of a real Algorithm."""
    made = config(num_env_runners=1)
    made.learners(num_learners=2, max_requests_in_flight_per_learner=1)
    manager = build(made).learner_group._worker_manager
    manager._remote_actor_states[1].increment_requests(None)
    assert manager.foreach_actor_async("update", kwargs=[{}, {}]) == 0
