"""`python FILE.yaml` on a cluster's head: what `ray submit CLUSTER FILE.yaml` runs there.

    python ~/minigrid_all.yaml --method ride

is, once the file lies in the checkout's `tune_configs/`,

    rllib-ride run ~/rllib-ride/tune_configs/minigrid_all.yaml --address auto --method ride

`ray submit` copies one file to the home folder. What that file names by a relative path lies beside
the original, and `tune_configs/` of the checkout is where that is: so the file goes there, in place
of what has its name. Results go to `runs/` of the folder that the command is run in.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from rllib_ride import cli

CHECKOUT = Path(__file__).resolve().parents[2]


def main(argv: Sequence[str] | None = None, checkout: Path = CHECKOUT) -> int:
    """Runs the experiment in the first argument on the cluster; the others are options of `run`."""
    file, *options = sys.argv[1:] if argv is None else argv
    return cli.main(["run", str(placed(Path(file), checkout)), "--address", "auto", *options])


def placed(file: Path, checkout: Path) -> Path:
    """Where the experiment in `file` is run from: below the checkout, among the files it may name.

    Returns:
        `file` itself if it is in the checkout or nowhere, else its copy in `tune_configs/`.
    """
    if not file.is_file() or file.resolve().is_relative_to(checkout):
        return file
    there = checkout / "tune_configs" / file.name
    shutil.copyfile(file, there)
    return there


if __name__ == "__main__":
    sys.exit(main())
