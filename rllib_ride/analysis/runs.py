"""Reads the files of trials: the learning curve in `curve.csv` and the record in `run.json`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from rllib_ride.analysis.curve_file import read_curve
from rllib_ride.analysis.states import State, state_of, was_resumed
from rllib_ride.analysis.variants import printed, variants
from rllib_ride.reading import MIB, read_json
from rllib_ride.run_files import CURVE_FILE, RECORD_FILE, TRIALS_FILE, WINDOW, resumptions
from rllib_ride.wording import shown


@dataclass(frozen=True)
class Code:
    """The code that trained a run, or a part of it.

    Attributes:
        git_commit: Its commit; None if the record has none.
        versions: Pairs of package and version.
    """

    git_commit: str | None
    versions: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Run:
    """One trial, finished or not.

    Attributes:
        env: Environment id.
        method: Name of the intrinsic reward, or `none`.
        seed: Seed of the trial.
        variant: What distinguishes the trial from others of its method, such as `lr=0.0001` in a
            grid search; may be empty.
        curve: `COLUMNS` of `read_curve`, one row per report.
        folder: The trial's folder.
        env_options: Options of the environment.
        experiment: The experiment it belongs to.
        frames_asked: Frames after which it ends; None if its record has none.
        state: State of the run.
        solved: Whether it ended early because its return reached `stop_at_return`.
        resumed: Whether it was resumed from a checkpoint.
        code: The code it started with, then each different one that it was resumed with.
    """

    env: str
    method: str
    seed: int
    variant: str
    curve: pd.DataFrame
    folder: Path
    env_options: Mapping[str, Any] = field(default_factory=dict)
    experiment: str = ""
    frames_asked: int | None = None
    state: State = State.UNKNOWN
    solved: bool = False
    resumed: bool = False
    code: tuple[Code, ...] = (Code(None, ()),)

    @property
    def task(self) -> str:
        """The environment with its options, which runs of one panel or table row share."""
        options = _pairs(self.env_options)
        return f"{self.env} ({options})" if options else self.env

    @property
    def label(self) -> str:
        """Label of the trial's line in a figure; runs with the same label are averaged."""
        return f"{self.method} ({self.variant})" if self.variant else self.method

    @property
    def frames(self) -> int:
        """Frames reached so far."""
        return int(self.curve["frames"].iloc[-1]) if len(self.curve) else 0

    @property
    def returns(self) -> np.ndarray:
        """Frames and mean return of the reports over a full `WINDOW` of episodes, [reports, 2].

        Earlier reports are biased: the first episodes to end are short, and so the successful ones.
        """
        whole = self.curve[~(self.curve["episodes"] < WINDOW)]
        return whole[["frames", "return_mean"]].dropna().to_numpy()


@dataclass(frozen=True)
class Readings:
    """The runs that were read, and what was wrong with their files.

    Attributes:
        runs: Sorted by folder.
        notes: One sentence for each thing that is wrong or missing, naming its file.
    """

    runs: list[Run]
    notes: list[str]


def read_runs(paths: Iterable[Path]) -> Readings:
    """Reads every trial in the given folders: of trials, of experiments or of a storage.

    Leaves out what cannot be used, with a note. Of several runs of the same trial (environment,
    method, settings and seed), keeps the one with the most frames, so that a seed is one sample.
    """
    notes: list[str] = []
    folders: dict[Path, Path] = {}  # resolved path to the path as given
    for path in dict.fromkeys(paths):
        try:
            found = _trial_folders(path)
            what = "holds no trial" if path.is_dir() else "is no folder"
        except OSError as error:  # no permission, for example
            found, what = [], f"cannot be read, {error.strerror}"
        if not found:
            notes.append(
                f"{path}: {what}; expected a folder with {RECORD_FILE} and {CURVE_FILE}, "
                "or one or two folders above such"
            )
        folders.update({folder.resolve(): folder for folder in found})
    facts = {}
    for folder in folders.values():
        try:
            facts[folder] = _read_facts(folder / RECORD_FILE)
        except ValueError as error:
            notes.append(f"{error}; the trial is left out")
    names = variants(list(facts.values()))
    runs = [
        _read_run(folder, fact, variant, notes)
        for (folder, fact), variant in zip(facts.items(), names, strict=True)
    ]
    notes += _waiting(folders.values())
    return Readings(_without_doubles(runs, notes), notes)


def _trial_folders(path: Path) -> list[Path]:
    """Folders with a record or a curve: `path` itself, or one or two levels below it."""
    levels = ("", "*/", "*/*/")
    files = [f for level in levels for n in (RECORD_FILE, CURVE_FILE) for f in path.glob(level + n)]
    return sorted({file.parent for file in files})


def _read_run(folder: Path, fact: Mapping[str, Any], variant: str, notes: list[str]) -> Run:
    path = folder / CURVE_FILE
    curve, faults = read_curve(path)
    if faults:
        notes.append(f"{path}: {'; '.join(faults)}")
    if changed := _changed_on_the_way(fact):
        notes.append(
            f"{folder / RECORD_FILE}: resumed by code of other settings, and told by those it "
            f"began with; {', '.join(changed)} changed on the way"
        )
    frames_asked = fact.get("frames")
    code = tuple(map(_code, [fact, *resumptions(fact)]))
    run = Run(
        env=fact["env"],
        method=fact["method"],
        seed=fact["seed"],
        variant=variant,
        curve=curve,
        folder=folder,
        env_options=fact.get("env_options") or {},
        experiment=fact.get("experiment") or printed(folder.resolve().parent.name, _LONGEST_TEXT),
        frames_asked=frames_asked,
        solved=_is_solved(fact, curve),
        resumed=len(code) > 1 or was_resumed(folder),
        code=code,
    )
    return replace(run, state=state_of(folder, run.frames, frames_asked, ended="ended" in fact))


def _code(entry: Mapping[str, Any]) -> Code:
    """Reads the code from a record or an entry of its `resumed`; the values are not yet checked."""
    commit, versions = entry.get("git_commit"), entry.get("versions")
    if not isinstance(commit, str) or _fault(commit):
        commit = None
    if not isinstance(versions, dict) or _fault(versions):
        versions = {}
    return Code(commit, tuple((name, str(version)) for name, version in sorted(versions.items())))


def _changed_on_the_way(fact: Mapping[str, Any]) -> list[str]:
    """Dotted names of the settings that changed, with the code, when the trial was resumed."""
    names = sorted({name for entry in resumptions(fact) for name in entry["changed"]})
    told = [shown(name, 80)[1:-1] for name in names[:_MOST_TOLD]]
    return [*told, f"{len(names) - _MOST_TOLD} more"] if len(names) > _MOST_TOLD else told


def _is_solved(fact: Mapping[str, Any], curve: pd.DataFrame) -> bool:
    goal = fact.get("stop_at_return")
    if "ended" not in fact or not isinstance(goal, int | float) or not len(curve):
        return False
    return float(curve["return_mean"].iloc[-1]) >= goal


_MOST_BYTES = 16 * MIB  # of a record (usually about 50,000) or the list of trials
_LONGEST_TEXT = 300  # characters of a run's name in a figure; versions have about 120
_MOST_TOLD = 5  # settings named in a note
_REQUIRED = {"env": str, "method": str, "seed": int, "config": dict}
_OPTIONAL = {
    "env_options": dict,
    "experiment": str,
    "frames": int,
    "git_commit": str,
    "preset": str,
    "resumed": list,
    "versions": dict,
}


def _read_facts(path: Path) -> dict[str, Any]:
    try:
        facts = read_json(path, _MOST_BYTES)
    except FileNotFoundError:
        raise ValueError(f"{path}: missing, and nothing else says what ran there") from None
    except ValueError as error:
        raise ValueError(f"{path}: cannot be read, {error}") from None
    if not isinstance(facts, dict):
        raise ValueError(f"{path}: must hold keys and values, not {type(facts).__name__}")
    for key, kind in {**_REQUIRED, **_OPTIONAL}.items():
        value = facts.get(key)
        if type(value) is not kind and (value is not None or key in _REQUIRED):
            raise ValueError(f"{path}: key {key!r} must be {kind.__name__}, not {shown(value, 80)}")
        if key not in ("config", "resumed") and (fault := _fault(value)):
            raise ValueError(f"{path}: key {key!r} {fault}: {shown(value, 80)}")
    return facts


def _fault(value: Any) -> str | None:
    """Why a record's entry cannot be shown in a figure or table; None if it can."""
    if isinstance(value, int):
        return None if abs(value) <= 10**15 else "is too large"
    text = _pairs(value) if isinstance(value, dict) else str(value or "")
    if not text.isprintable():
        return "has characters that cannot be printed"
    return None if len(text) <= _LONGEST_TEXT else "is too long"


def _pairs(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{key}={value}" for key, value in values.items())


def _without_doubles(runs: Sequence[Run], notes: list[str]) -> list[Run]:
    furthest: dict[tuple[str, str, int], Run] = {}
    for run in sorted(runs, key=lambda run: -run.frames):
        other = furthest.setdefault((run.task, run.label, run.seed), run)
        if other is not run:
            notes.append(
                f"{run.folder}: left out, the same trial as {other.folder}, which has come as far "
                f"or further ({run.frames:,} and {other.frames:,} frames)"
            )
    return sorted(furthest.values(), key=lambda run: run.folder)


def _waiting(folders: Iterable[Path]) -> list[str]:
    """A note for each experiment with trials that have not started, and how many."""
    notes = []
    for path in sorted({folder.resolve().parent / TRIALS_FILE for folder in folders}):
        try:
            names = [trial["name"] for trial in read_json(path, _MOST_BYTES)]
            waiting = sum(not (path.parent / name / RECORD_FILE).exists() for name in names)
        except (OSError, ValueError, TypeError, KeyError):  # only this note is lost
            continue
        if waiting:
            notes.append(f"{path.parent}: {waiting} of its {len(names)} trials have not started")
    return notes
