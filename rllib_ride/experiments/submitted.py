"""Implements `python FILE.yaml` on a cluster's head, which `ray submit CLUSTER FILE.yaml` runs.

    python ~/minigrid_all.yaml --method ride

copies the file to the checkout's `tune_configs/` and runs

    rllib-ride run ~/rllib-ride/tune_configs/minigrid_all.yaml --address auto --method ride

`ray submit` copies one file to the home folder of the head. Files that it names by relative paths
lie beside the original, in the checkout's `tune_configs/`. The copy therefore goes there, and
replaces a file of the same name. Results go to `runs/` in the current directory.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from rllib_ride import cli

CHECKOUT = Path(__file__).resolve().parents[2]


def main(argv: Sequence[str] | None = None, checkout: Path = CHECKOUT) -> int:
    """Runs the experiment in the first argument on the cluster; passes the others on to `run`."""
    file, *options = sys.argv[1:] if argv is None else argv
    return cli.main(["run", str(placed(Path(file), checkout)), "--address", "auto", *options])


def placed(file: Path, checkout: Path) -> Path:
    """Puts the experiment in `file` into the checkout, beside the files it may name.

    Returns:
        `file` itself if it is in the checkout or does not exist, else its copy in `tune_configs/`.
    """
    if not file.is_file() or file.resolve().is_relative_to(checkout):
        return file
    there = checkout / "tune_configs" / file.name
    shutil.copyfile(file, there)
    return there


if __name__ == "__main__":
    sys.exit(main())
