"""Writes the files of a trial, for tests that read them."""

import json
from pathlib import Path

from rllib_ride.analysis.curve_file import COLUMNS


def curve_text(**columns):
    """The text of a `curve.csv` with the given columns. None is an empty field.

    Of the other columns, `episodes` is 100, the window of the mean return; the rest are zero.
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
    """Writes a trial's folder under `run_dir` and returns its path.

    Without columns the trial has not reported yet. `record` are further entries of run.json.
    """
    name = "_".join([method, env, *(f"{k}={v}" for k, v in (config or {}).items()), f"seed{seed}"])
    folder = run_dir / name
    folder.mkdir(parents=True)
    facts = {"method": method, "env": env, "seed": seed, "config": config or {}, **(record or {})}
    (folder / "run.json").write_text(json.dumps(facts))
    if columns:
        (folder / "curve.csv").write_text(curve_text(**columns))
    return folder
