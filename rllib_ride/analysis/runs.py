"""Reads what trials wrote: the learning curve in `curve.csv` and the facts in `run.json`."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

COLUMNS = (
    "frames",
    "wall_s",
    "episodes",
    "return_mean",
    "return_std",
    "length_mean",
    "intrinsic_reward_mean",
    "fps",
)


@dataclass(frozen=True)
class Run:
    """One trial, finished or not.

    Attributes:
        env: Environment id.
        method: Intrinsic reward, `none` without one.
        seed: Seed of the trial.
        variant: What sets the trial apart from others of its method in the same folder, such as
            `lr=0.0001` in a grid search; empty where nothing does.
        curve: `COLUMNS`, one row a report, frames rising; NaN where there is nothing to report,
            such as a return before the first episode ended.
    """

    env: str
    method: str
    seed: int
    variant: str
    curve: pd.DataFrame

    @property
    def label(self) -> str:
        """What names the trial's line in a figure: seeds of one label are averaged."""
        return f"{self.method} ({self.variant})" if self.variant else self.method


def read_runs(run_dir: Path) -> list[Run]:
    """Reads every trial folder under `run_dir` in which a trial has started, sorted by name.

    Raises:
        ValueError: A `run.json` or `curve.csv` that no trial writes; names file and key.
    """
    folders = sorted(path.parent for path in run_dir.glob("*/run.json"))
    facts = [_read_facts(folder / "run.json") for folder in folders]
    variants = _variants(facts)
    return [
        Run(
            env=fact["env"],
            method=fact["method"],
            seed=fact["seed"],
            variant=variant,
            curve=read_curve(folder / "curve.csv"),
        )
        for folder, fact, variant in zip(folders, facts, variants, strict=True)
    ]


def read_curve(path: Path) -> pd.DataFrame:
    """Reads a curve that may still be growing: empty if missing, less a line that is cut short.

    Raises:
        ValueError: The file lacks one of `COLUMNS` or holds something other than numbers.
    """
    text = path.read_text() if path.exists() else ""
    complete = text[: text.rfind("\n") + 1]
    if not complete:
        return pd.DataFrame(columns=list(COLUMNS), dtype=float)
    curve = pd.read_csv(io.StringIO(complete))
    missing = [column for column in COLUMNS if column not in curve]
    if missing:
        raise ValueError(f"{path}: column {missing[0]!r} is missing, want {', '.join(COLUMNS)}")
    try:
        return curve[list(COLUMNS)].astype(float)
    except ValueError as error:
        raise ValueError(f"{path}: every value must be a number, but {error}") from None


def _read_facts(path: Path) -> dict:
    try:
        facts = json.loads(path.read_text())
    except json.JSONDecodeError as error:
        raise ValueError(f"{path}: not JSON, {error}") from None
    for key, kind in {"env": str, "method": str, "seed": int, "config": dict}.items():
        if not isinstance(facts.get(key), kind):
            raise ValueError(f"{path}: key {key!r} must be {kind.__name__}, not {facts.get(key)!r}")
    return facts


def _variants(facts: Iterable[dict]) -> list[str]:
    """For each run the config values in which runs of its env and method differ."""
    configs = [
        (fact["env"], fact["method"], {**_flat(fact["config"]), "seed": None}) for fact in facts
    ]
    variants = []
    for env, method, config in configs:
        peers = [other for *of, other in configs if of == [env, method]]
        keys = sorted({key for peer in peers for key in peer})
        differing = [key for key in keys if any(p.get(key) != config.get(key) for p in peers)]
        variants.append(
            ", ".join(f"{key.rpartition('.')[2]}={_text(config.get(key))}" for key in differing)
        )
    return variants


def _text(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _flat(config: dict, prefix: str = "") -> dict[str, object]:
    flat: dict[str, object] = {}
    for key, value in config.items():
        if isinstance(value, dict):
            flat.update(_flat(value, f"{prefix}{key}."))
        else:
            flat[f"{prefix}{key}"] = value
    return flat
