"""The progress table, updated in place on stderr; plain lines if stderr is no terminal."""

from __future__ import annotations

import math
import sys
import time
from collections import Counter, deque
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ray.tune import Callback
from rich.console import Console
from rich.live import Live
from rich.table import Table

from rllib_ride.experiments.progress import Progress
from rllib_ride.experiments.trial import Trial

if TYPE_CHECKING:
    from ray.tune.experiment import Trial as TuneTrial

_SECONDS_A_LINE = 30.0
_MOST_LINES = 8  # at a time, if stderr is no terminal
_LINES_BESIDE_ROWS = 3  # the table's head, its caption, and the prompt
_RATE_OVER = 5  # results


class LiveCallback(Callback):
    """One row per trial: frames of total, frames per second, return, intrinsic reward, time left.

    If the screen cannot hold all trials, running ones come first and the caption counts the rest.
    """

    def __init__(self, trials: Sequence[Trial]) -> None:
        self._rows = {trial.name: _Row(trial) for trial in trials}
        self._live: Live | None = None
        self._last_lines = -math.inf

    def setup(self, *args: Any, **info: Any) -> None:
        """Starts the table, which cannot be pickled: Tune pickles callbacks before `setup`."""
        console = Console(stderr=True)
        if console.is_terminal:
            self._live = Live(get_renderable=self._table, console=console, refresh_per_second=2)
            self._live.start()

    def on_trial_start(
        self, iteration: int, trials: list[TuneTrial], trial: TuneTrial, **info: Any
    ) -> None:
        """Marks the trial as running."""
        self._row(trial).begin()

    def on_trial_result(
        self,
        iteration: int,
        trials: list[TuneTrial],
        trial: TuneTrial,
        result: dict[str, Any],
        **info: Any,
    ) -> None:
        """Updates the trial's values; without a terminal, prints lines at most every 30 s."""
        self._row(trial).update(Progress.of(result))
        if self._live is None and time.monotonic() - self._last_lines >= _SECONDS_A_LINE:
            self._last_lines = time.monotonic()
            self._print_lines()

    def on_trial_complete(
        self, iteration: int, trials: list[TuneTrial], trial: TuneTrial, **info: Any
    ) -> None:
        """Marks the trial as done."""
        self._end(trial, "done")

    def on_trial_recover(
        self, iteration: int, trials: list[TuneTrial], trial: TuneTrial, **info: Any
    ) -> None:
        """Marks the trial as retried from its last checkpoint."""
        self._end(trial, "trying again")

    def on_trial_error(
        self, iteration: int, trials: list[TuneTrial], trial: TuneTrial, **info: Any
    ) -> None:
        """Marks the trial as failed."""
        self._end(trial, "failed")

    def on_experiment_end(self, trials: list[TuneTrial], **info: Any) -> None:
        """Leaves the table as it stands."""
        self.stop()

    def stop(self) -> None:
        """Ends the updates and restores the cursor, however the run has ended."""
        if self._live is not None:
            self._live.stop()

    def _end(self, trial: TuneTrial, state: str) -> None:
        row = self._row(trial)
        row.state = state
        if self._live is None:
            row.print_line()

    def _row(self, trial: TuneTrial) -> _Row:
        return self._rows[trial.config["trial"]["name"]]

    def _print_lines(self) -> None:
        running = [row for row in self._rows.values() if row.state == "running"]
        for row in running[:_MOST_LINES]:
            row.print_line()
        if len(running) > _MOST_LINES:
            print(f"... {self._counts()}", file=sys.stderr, flush=True)

    def _table(self) -> Table:
        rows = list(self._rows.values())
        fit = self._live.console.size.height - _LINES_BESIDE_ROWS if self._live else len(rows)
        caption = None
        if len(rows) > fit:
            rows = sorted(rows, key=lambda row: _ORDER.get(row.state, 0))[:fit]
            caption = f"{len(rows)} of {self._counts()}"
        table = Table(box=None, header_style="bold", caption=caption, caption_justify="left")
        for name, justify in _COLUMNS:
            table.add_column(name, justify=justify, no_wrap=True)
        for row in rows:
            table.add_row(*row.cells())
        return table

    def _counts(self) -> str:
        states = Counter(row.state for row in self._rows.values())
        told = ", ".join(f"{number} {state}" for state, number in states.most_common())
        return f"{len(self._rows)} trials: {told}"


_ORDER = {"running": 0, "failed": 1, "waiting": 2, "done": 3}  # any other state: first
_COLUMNS: tuple[tuple[str, Any], ...] = (
    ("trial", "left"),
    ("frames", "right"),
    ("frames/s", "right"),
    ("return", "right"),
    ("intrinsic", "right"),
    ("left", "right"),
)


class _Row:
    """The state of one trial."""

    def __init__(self, trial: Trial) -> None:
        self.trial = trial
        self.state = "waiting"
        self._recent: deque[Progress] = deque(maxlen=_RATE_OVER)

    def begin(self) -> None:
        """Discards the rates of a failed attempt: its frames may be rolled back."""
        self.state = "starting"
        self._recent.clear()

    def update(self, progress: Progress) -> None:
        self.state = "running"
        self._recent.append(progress)

    def cells(self) -> list[str]:
        trial = self.trial
        if not self._recent:
            return [trial.name, f"0 of {_frames(trial.frames)}", "", "", "", self.state]
        now = self._recent[-1]
        return [
            trial.name,
            f"{_frames(now.frames)} of {_frames(trial.frames)}",
            f"{self._rate():,.0f}",
            _number(now.return_mean, ".2f"),
            _number(now.intrinsic_reward_mean, ".4f"),
            self._time_left() if self.state == "running" else self.state,
        ]

    def print_line(self) -> None:
        _, frames, rate, mean, bonus, left = self.cells()
        print(
            f"{self.trial.name}: {frames} frames, {rate or 0} frames/s, return {mean or '-'}, "
            f"intrinsic reward {bonus or '-'}, {left}{' left' if self.state == 'running' else ''}",
            file=sys.stderr,
            flush=True,
        )

    def _rate(self) -> float:
        """Frames per second over the last results."""
        first, last = self._recent[0], self._recent[-1]
        if len(self._recent) == 1:
            return last.frames / last.wall_s if last.wall_s else 0.0
        return (last.frames - first.frames) / max(last.wall_s - first.wall_s, 1e-9)

    def _time_left(self) -> str:
        rate = self._rate()
        if not rate:
            return ""
        seconds = int(max(self.trial.frames - self._recent[-1].frames, 0) / rate)
        hours, minutes = seconds // 3600, seconds // 60 % 60
        return (
            f"{hours}:{minutes:02}:{seconds % 60:02}" if hours else f"{minutes}:{seconds % 60:02}"
        )


def _frames(frames: int) -> str:
    return f"{frames / 1e6:.2f}M" if frames >= 1e5 else f"{frames:,}"


def _number(value: float, form: str) -> str:
    return "-" if value != value else format(value, form)
