"""Writes what a trial leaves behind, for tests that read it."""

import json
from pathlib import Path

from rllib_ride.analysis.curve_file import COLUMNS


def curve_text(**columns):
    """`curve.csv` with the given columns. None is an empty field.

    Of the others `episodes` is 100, as many as a mean return is over, and all else zero.
    """
    rows = len(columns["frames"])
    values = [columns.get(name, [100 * (name == "episodes")] * rows) for name in COLUMNS]
    lines = [
        ",".join("" if v is None else str(v) for v in row) for row in zip(*values, strict=True)
    ]
    return "\n".join([",".join(COLUMNS), *lines]) + "\n"


def write_trial(
    run_dir: Path, *, method="ride", env="Env-v0", seed=1, config=None, record=None, **columns
):
    """A trial folder under `run_dir` and its path; without columns, one that has not reported.

    `record` are further entries of run.json.
    """
    name = "_".join([method, env, *(f"{k}={v}" for k, v in (config or {}).items()), f"seed{seed}"])
    folder = run_dir / name
    folder.mkdir(parents=True)
    facts = {"method": method, "env": env, "seed": seed, "config": config or {}, **(record or {})}
    (folder / "run.json").write_text(json.dumps(facts))
    if columns:
        (folder / "curve.csv").write_text(curve_text(**columns))
    return folder
