"""How often a failing trial is tried again, with Tune's own count."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from rllib_ride.experiments.retry import HOPELESS, MAX_FAILURES, RetryCallback


class Tune:
    """Counts failures and calls the callback as Tune does."""

    def __init__(self, failures: int = 0) -> None:
        self.metadata = SimpleNamespace(num_failures=failures)
        self.config: dict[str, Any] = {}
        self.frames = 0
        self.callback = RetryCallback()
        self.callback.on_trial_start(0, [], self.trial)

    @property
    def trial(self) -> Any:
        failures = self.metadata.num_failures
        return SimpleNamespace(
            trial_id="t",
            run_metadata=self.metadata,
            num_failures=failures,
            config=self.config,
            last_result={"frames": self.frames},
            set_config=self.config.update,
        )

    def fails(self) -> bool:
        """Fails the trial; returns whether it is retried."""
        self.metadata.num_failures += 1
        if self.metadata.num_failures > MAX_FAILURES:
            return False
        self.callback.on_trial_recover(0, [], self.trial)
        return True

    def reports(self) -> None:
        self.callback.on_trial_result(0, [], self.trial, {})

    def saves(self, new_frames: int = 10) -> None:
        self.frames += new_frames
        self.callback.on_checkpoint(0, [], self.trial, None)  # type: ignore[arg-type]


def test_a_trial_that_never_reports_is_tried_twice() -> None:
    tune = Tune()
    assert [tune.fails(), tune.fails()] == [True, False]


def test_a_trial_that_fails_at_one_place_again_and_again_is_tried_four_times() -> None:
    tune, tried_again = Tune(), []
    for _ in range(4):
        tune.reports()
        tried_again.append(tune.fails())
    assert tried_again == [True, True, True, False]


def test_a_trial_that_comes_to_a_checkpoint_may_fail_any_number_of_times() -> None:
    tune = Tune()
    for _ in range(20):
        tune.reports()
        tune.saves()
        assert tune.fails()


def test_a_checkpoint_without_new_frames_is_no_way_past_a_failure() -> None:
    tune, tried_again = Tune(), []
    tune.saves()
    for _ in range(4):
        tune.reports()
        tune.saves(new_frames=0)
        tried_again.append(tune.fails())
    assert tried_again == [True, True, True, False]


def test_a_failed_trial_that_is_resumed_has_its_retries_again() -> None:
    tune = Tune(failures=MAX_FAILURES + 1)
    tune.reports()
    assert tune.fails()


def test_a_trial_that_says_so_is_not_tried_again_until_a_person_resumes_it() -> None:
    tune = Tune()
    tune.reports()
    tune.callback.on_trial_result(0, [], tune.trial, {HOPELESS: True})
    assert not tune.fails()
    tune.callback.on_trial_start(0, [], tune.trial)
    tune.reports()
    assert tune.fails()
