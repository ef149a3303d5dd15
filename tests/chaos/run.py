"""`python tests/chaos/run.py --faults 20 --seed 1`: breaks real trainings, and checks what is left.

It runs on a private machine inside this one (see `machine.py`). `--help` lists the options.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from chaos.machine import enter, missing

if __name__ == "__main__":
    if reason := missing():
        sys.exit(f"no machine for chaos here: {reason}")
    enter("chaos.campaign", sys.argv[1:])
