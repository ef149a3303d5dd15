"""`curve.csv`, a trial's learning curve, written while it trains."""

from __future__ import annotations

import csv
import io
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ray.tune import Callback

from rllib_ride.experiments.progress import Progress
from rllib_ride.reading import MIB, read_bytes
from rllib_ride.run_files import CURVE_COLUMNS, CURVE_FILE, write_whole

if TYPE_CHECKING:
    from ray.tune.experiment import Trial as TuneTrial

COLUMNS = (*CURVE_COLUMNS, "env_frames")
_NEVER_EMPTY = {"frames", "wall_s", "fps"}
_LEAST_SECONDS_A_ROW = 1.0
_MOST_BYTES = 1024 * MIB  # five months of a row of some 80 bytes a second


class CurveCallback(Callback):
    """Adds a row of `COLUMNS` to each trial's `curve.csv` per result, at most one a second.

    When a trial resumes from a checkpoint, later rows are dropped: the curve is that of the run
    that led to the weights, and its frames only grow. A cell is empty if no episode has ended yet,
    there is no bonus, or the environment is no game. `fps` covers the time since the previous row.
    """

    def __init__(self) -> None:
        self._last: dict[str, tuple[float, float]] = {}  # frames and wall_s of the last row

    def on_trial_start(
        self, iteration: int, trials: list[TuneTrial], trial: TuneTrial, **info: Any
    ) -> None:
        """Cuts the curve back to the frames that the trial starts from."""
        saved = trial.latest_checkpoint_result
        frames = Progress.of(saved.metrics).frames if saved else 0
        rows = [row for row in read_curve(_path(trial)) if float(row["frames"]) <= frames]
        text = io.StringIO()
        writer = csv.DictWriter(text, COLUMNS)
        writer.writeheader()
        writer.writerows(rows)
        write_whole(_path(trial), text.getvalue())
        last = rows[-1] if rows else {"frames": 0, "wall_s": 0}
        self._last[trial.trial_id] = float(last["frames"]), float(last["wall_s"])

    def on_trial_result(
        self,
        iteration: int,
        trials: list[TuneTrial],
        trial: TuneTrial,
        result: dict[str, Any],
        **info: Any,
    ) -> None:
        """Adds a row; one for a checkpoint or the end even within a second of the last."""
        now = Progress.of(result)
        last_frames, last_wall_s = self._last[trial.trial_id]
        seconds = now.wall_s - last_wall_s
        is_checkpoint = result.get("should_checkpoint") or result.get("done")
        if now.frames <= last_frames or (seconds < _LEAST_SECONDS_A_ROW and not is_checkpoint):
            return
        fps = (now.frames - last_frames) / seconds
        with _path(trial).open("a", newline="") as file:
            row = {**vars(now), "fps": fps}
            csv.writer(file).writerow(_cell(row[name]) for name in COLUMNS)
        self._last[trial.trial_id] = now.frames, now.wall_s


def read_curve(path: Path) -> list[dict[str, str]]:
    """The rows of a curve without those that a crash has damaged; none if there is no file.

    A killed driver may leave half a line; a power loss may leave zero bytes in place of the last
    lines.

    Raises:
        ValueError: The file cannot be read; says why.
    """
    try:
        text = read_bytes(path, _MOST_BYTES).decode("utf-8", errors="replace")
    except FileNotFoundError:
        return []
    lines = (line for line in text.splitlines() if "\0" not in line)
    return [row for row in csv.DictReader(lines) if _is_whole(row)]


def _is_whole(row: dict[str, str]) -> bool:
    if not row.keys() >= _NEVER_EMPTY or None in row or None in row.values():
        return False  # no header, too many cells, or too few
    try:
        numbers = [float(cell) for name, cell in row.items() if cell or name in _NEVER_EMPTY]
    except ValueError:
        return False
    return all(map(math.isfinite, numbers))


def _path(trial: TuneTrial) -> Path:
    folder = Path(trial.path or "")
    folder.mkdir(parents=True, exist_ok=True)
    return folder / CURVE_FILE


def _cell(value: float) -> str:
    if value != value:
        return ""
    return str(value) if isinstance(value, int) else f"{value:.6g}"
