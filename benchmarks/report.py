"""Time and memory of `rllib-ride report` on synthetic runs of the size of a whole suite.

    python benchmarks/report.py                          # 200 runs of 1e8 frames, 4,000 rows each
    python benchmarks/report.py --tasks 1 --methods 5 --seeds 3 --keep small

The curves are noise around a rising line and say nothing about the methods.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd

from rllib_ride.analysis.curve_file import COLUMNS
from rllib_ride.analysis.tasks import MINIGRID_FIGURE

METHODS = (
    "ride",
    "icm",
    "rnd",
    "count",
    "none",
    "only_episodic_counts",
    "no_episodic_counts",
    "no_entropy_no_episodic_counts",
)
FRAMES = 1e8


def main() -> None:
    """Writes the runs, reports on them and prints the measurements."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tasks", type=int, default=8)
    parser.add_argument("--methods", type=int, default=5)
    parser.add_argument("--settings", type=int, default=1, help="of each method, as in a search")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--rows", type=int, default=4000)
    parser.add_argument("--keep", type=Path, help="folder for runs and report")
    options = parser.parse_args()

    with tempfile.TemporaryDirectory() as temporary:
        folder = options.keep or Path(temporary)
        runs = write_runs(folder / "runs", options)
        start = time.perf_counter()
        subprocess.run(
            [sys.executable, "-m", "rllib_ride.cli", "report", str(folder / "runs")]
            + ["--out", str(folder / "report")],
            check=True,
            stdout=subprocess.DEVNULL,
        )
        seconds = time.perf_counter() - start
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu = used.ru_utime + used.ru_stime
        peak = used.ru_maxrss / 1024
        page = (folder / "report" / "index.html").stat().st_size / 2**20
    print(f"runs           {runs:8}")
    print(f"rows each      {options.rows:8}")
    print(f"seconds        {seconds:8.1f}")
    print(f"CPU seconds    {cpu:8.1f}")
    print(f"peak RSS, MB   {peak:8.0f}")
    print(f"index.html, MB {page:8.1f}")


def write_runs(folder: Path, options: argparse.Namespace) -> int:
    """Writes the trials' folders and returns their number."""
    runs = 0
    for task, env in enumerate(MINIGRID_FIGURE[: options.tasks]):
        for method in METHODS[: options.methods]:
            for setting in range(options.settings):
                for seed in range(1, options.seeds + 1):
                    rng = np.random.default_rng([task, METHODS.index(method), setting, seed])
                    name = f"{method}_{env}_lr={setting}_seed{seed}"
                    trial = folder / "suite" / name
                    trial.mkdir(parents=True, exist_ok=True)
                    (trial / "run.json").write_text(json.dumps(_record(env, method, setting, seed)))
                    _curve(method, setting, options.rows, rng).to_csv(
                        trial / "curve.csv", index=False, float_format="%.6g"
                    )
                    runs += 1
    return runs


def _record(env: str, method: str, setting: int, seed: int) -> dict[str, object]:
    # As many keys as RLlib's config has.
    config = {f"key_{i}": None for i in range(270)}
    return {
        "experiment": "suite",
        "env": env,
        "method": method,
        "seed": seed,
        "frames": int(FRAMES),
        "config": {**config, "lr": 1e-4 * (1 + setting)},
        "git_commit": "0" * 40,
        "versions": {"ray": "2.60.0", "torch": "2.13.0"},
    }


def _curve(method: str, setting: int, rows: int, rng: np.random.Generator) -> pd.DataFrame:
    frames = np.linspace(FRAMES / rows, FRAMES, rows).round()
    reached = 0.0 if method == "none" else 0.9 / (1 + METHODS.index(method) + 0.3 * setting)
    learned = reached / (1 + np.exp(-12 * (frames / FRAMES - rng.uniform(0.2, 0.7))))
    returns = np.clip(learned + 0.03 * rng.standard_normal(rows) * (learned > 0.01), 0, 1)
    bonus = 0.01 * 10.0 ** -METHODS.index(method) * (1 + 0.1 * rng.standard_normal(rows))
    columns = {
        "frames": frames,
        "wall_s": frames / 5000,
        "episodes": (frames / 140).round(),
        "return_mean": returns,
        "return_std": np.full(rows, 0.1),
        "length_mean": np.full(rows, 140.0),
        "intrinsic_reward_mean": np.full(rows, np.nan) if method == "none" else bonus,
        "fps": np.full(rows, 5000.0),
    }
    return pd.DataFrame(columns)[list(COLUMNS)]


if __name__ == "__main__":
    main()
