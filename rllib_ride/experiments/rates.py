"""Frames per second of trials, as given or as measured by earlier runs."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rllib_ride.experiments.curve import read_curve
from rllib_ride.experiments.errors import ConfigError
from rllib_ride.experiments.schedule import Job
from rllib_ride.reading import MIB, read_json
from rllib_ride.run_files import CURVE_FILE, RECORD_FILE
from rllib_ride.wording import told

if TYPE_CHECKING:
    from rllib_ride.experiments.plan import PlannedTrial


def jobs_of(planned: Sequence[PlannedTrial], rates: Mapping[tuple[str, str], float]) -> list[Job]:
    """The trials of an experiment with their rates.

    Args:
        planned: Trials.
        rates: Frames per second by (env, method).

    Raises:
        ConfigError: A trial has no rate, or requests resources other than cores.
    """
    for entry in planned:
        if others := {name for name, number in entry.resources.items() if number} - {"CPU"}:
            raise ConfigError(
                f"trial {entry.trial.name} asks for {', '.join(sorted(others))}: an estimate is of "
                "cores alone"
            )
    missing = [pair for pair in pairs(planned) if pair not in rates]
    if missing:
        raise ConfigError(
            f"no rate for {_listed(missing)}: no run of them has been found. Give frames a second "
            "with --fps N or --fps METHOD=N, which `rllib-ride bench --env ID --method METHOD` "
            "measures, or the folder of runs with --storage"
        )
    return [
        Job(
            env=entry.trial.env,
            method=entry.trial.method,
            frames=entry.trial.frames,
            fps=rates[entry.trial.env, entry.trial.method],
            bundles=entry.cpu_bundles,
        )
        for entry in planned
    ]


def pairs(planned: Iterable[PlannedTrial]) -> list[tuple[str, str]]:
    """The distinct (env, method) pairs of the trials."""
    return list(dict.fromkeys((entry.trial.env, entry.trial.method) for entry in planned))


def measured_rates(storage: Path, preset: str) -> tuple[dict[tuple[str, str], float], list[str]]:
    """Measured frames per second by (env, method), over all trials of one preset in `storage`.

    A rate is the frames of all trials of a pair over their seconds. It includes unfinished trials,
    and whatever else loaded the machine. It does not distinguish overrides or grid points.

    Args:
        storage: The `--storage` of `run`.
        preset: Name of the preset.

    Returns:
        The rates, and one sentence for each trial that is left out because a file is damaged.
    """
    sums: dict[tuple[str, str], tuple[float, float]] = {}
    notes = []
    for record in sorted(storage.glob(f"*/*/{RECORD_FILE}")):
        try:
            env, method, ran = _trial(record)
            more_frames, more_seconds = _reached(record.parent / CURVE_FILE)
        except ValueError as error:
            notes.append(f"{error}; the trial is left out")
            continue
        if ran == preset:
            frames, seconds = sums.get((env, method), (0.0, 0.0))
            sums[env, method] = frames + more_frames, seconds + more_seconds
    rates = {pair: frames / seconds for pair, (frames, seconds) in sums.items() if seconds > 0}
    return rates, notes


def _trial(record: Path) -> tuple[str, str, str]:
    """Environment, method and preset of a `run.json`; a ValueError names the file."""
    try:
        facts = read_json(record, 16 * MIB)
    except (FileNotFoundError, ValueError) as error:
        raise ValueError(f"{record}: cannot be read, {error}") from None
    match facts:
        case {"env": str(env), "method": str(method), "preset": str(preset)}:
            return env, method, preset
    raise ValueError(f"{record}: is no record of a trial")


def _reached(path: Path) -> tuple[float, float]:
    """Frames and seconds in a curve's last row, or zeros; a ValueError names the file."""
    try:
        curve = read_curve(path)
    except (ValueError, csv.Error) as error:
        raise ValueError(f"{path}: cannot be read, {told(error)}") from None
    return (float(curve[-1]["frames"]), float(curve[-1]["wall_s"])) if curve else (0.0, 0.0)


def _listed(missing: Sequence[tuple[str, str]], most: int = 3) -> str:
    named = ", ".join(f"{method} on {env}" for env, method in missing[:most])
    more = len(missing) - most
    return f"{named} and {more} more" if more > 0 else named
