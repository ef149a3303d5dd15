"""Ends training if a remote EnvRunner fails again and again."""

from __future__ import annotations

import contextlib
from typing import Any

from ray.rllib.env.single_agent_env_runner import SingleAgentEnvRunner

MOST_IN_A_ROW = 3
"""Consecutive errors of one EnvRunner, with no complete fragment in between, that end training."""


class TellingErrors(SingleAgentEnvRunner):
    """An EnvRunner that survives sampling errors: it reports them and rebuilds its environments.

    RLlib would wait a minute and exit the process; Ray would restart it any number of times, as
    nothing counts the errors. Killed processes are still restarted without limit.
    """

    env: Any  # RLlib declares None

    def __init__(self, **kwargs: Any) -> None:
        self._errors_in_a_row = 0
        self._last_error: Exception | None = None
        super().__init__(**kwargs)

    @property
    def recurring_error(self) -> str | None:
        """The last error's message after `MOST_IN_A_ROW` consecutive errors, else None."""
        if self._errors_in_a_row < MOST_IN_A_ROW:
            return None
        return f"{type(self._last_error).__name__}: {self._last_error}"

    def sample(self, **kwargs: Any) -> list[Any]:
        """As RLlib's, but rebuilds the environments after an error.

        Also builds them if there are none: next to remote runners, the local runner has no
        environments, but IMPALA lets it sample when all remote ones are down.
        """
        try:
            if self.env is None or self._last_error is not None:
                self._renew_env()
            episodes: list[Any] = super().sample(**kwargs)
        except Exception as error:
            self._errors_in_a_row += 1
            self._last_error = error
            raise
        self._errors_in_a_row, self._last_error = 0, None
        return episodes

    def apply(self, func: Any, *args: Any, **kwargs: Any) -> Any:
        """As RLlib's, but raises an error of `sample` to the caller instead of exiting."""

        def call(runner: TellingErrors, *args: Any, **kwargs: Any) -> Any:
            try:
                return func(runner, *args, **kwargs)
            except Exception as error:
                if error is not runner._last_error:
                    raise
                return _Failed(error)

        result = super().apply(call, *args, **kwargs)
        if isinstance(result, _Failed):
            raise result.error
        return result

    def _renew_env(self) -> None:
        if self.env is not None:
            with contextlib.suppress(Exception):  # it is broken
                self.env.close()
            self.env = None
        self.make_env()


class _Failed:
    """Carries an error past RLlib's `apply`, which would exit the process."""

    def __init__(self, error: Exception) -> None:
        self.error = error


class EndRecurringErrors:
    """`on_env_runners_recreated` callback: checks returned EnvRunners for recurring errors."""

    def __call__(
        self, *, env_runner_group: Any, env_runner_indices: list[int], **kwargs: Any
    ) -> None:
        """Ends training if one of the EnvRunners has a recurring error.

        Raises:
            RuntimeError: With the message of the last error.
        """
        errors = env_runner_group.foreach_env_runner(
            lambda runner: runner.recurring_error,
            local_env_runner=False,
            remote_worker_ids=env_runner_indices,
        )
        for error in filter(None, errors):
            raise RuntimeError(f"an EnvRunner failed {MOST_IN_A_ROW} times in a row, last: {error}")
