"""EnvRunners in other processes: an error that comes again and again ends the training."""

from __future__ import annotations

import contextlib
from typing import Any

from ray.rllib.env.single_agent_env_runner import SingleAgentEnvRunner

MOST_IN_A_ROW = 3
"""Errors of one EnvRunner without a whole fragment in between that training ends with."""


class TellingErrors(SingleAgentEnvRunner):
    """Hands errors of sampling over, and makes its environments anew after one.

    RLlib would wait a minute and end the process; Ray starts it again, and nobody counts. A process
    that is killed is still started again, any number of times.
    """

    env: Any  # RLlib declares None

    def __init__(self, **kwargs: Any) -> None:
        self._errors_in_a_row = 0
        self._last_error: Exception | None = None
        super().__init__(**kwargs)

    @property
    def recurring_error(self) -> str | None:
        """What the last error says, if there have been `MOST_IN_A_ROW`."""
        if self._errors_in_a_row < MOST_IN_A_ROW:
            return None
        return f"{type(self._last_error).__name__}: {self._last_error}"

    def sample(self, **kwargs: Any) -> list[Any]:
        """As RLlib's; the first one after an error begins with new environments.

        A local runner, which has none beside remote ones, makes its own: IMPALA asks it to stand in
        when all of those are away.
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
        """Calls a function with this runner, as RLlib's; hands an error of `sample` over."""

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
    """An error on its way around RLlib's own treatment."""

    def __init__(self, error: Exception) -> None:
        self.error = error


class EndRecurringErrors:
    """For RLlib's `on_env_runners_recreated`: asks EnvRunners that are back why they were away."""

    def __call__(
        self, *, env_runner_group: Any, env_runner_indices: list[int], **kwargs: Any
    ) -> None:
        """Ends the training if one of them fails again and again.

        Raises:
            RuntimeError: With what the last error says.
        """
        errors = env_runner_group.foreach_env_runner(
            lambda runner: runner.recurring_error,
            local_env_runner=False,
            remote_worker_ids=env_runner_indices,
        )
        for error in filter(None, errors):
            raise RuntimeError(f"an EnvRunner failed {MOST_IN_A_ROW} times in a row, last: {error}")
