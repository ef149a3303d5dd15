"""A real training to break: sessions of `rllib-ride run`, one after the other, on one folder."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from chaos import machine
from helpers.chaos_env import ENV_ID, ORDER_VARIABLE
from helpers.small_config import SMALL_CONFIG
from rllib_ride.experiments.checkpoints import whole_checkpoints
from rllib_ride.experiments.curve import read_curve
from rllib_ride.run_files import CURVE_FILE, TRIALS_FILE
from rllib_ride.seal import SEAL_FILE

REAL_ENV = "MiniGrid-Empty-5x5-v0"
BREAKABLE_ENV = ENV_ID
_EXPERIMENT = (
    """
experiment: chaos
env: {env}
method: ride
preset: tuned
seed: {seeds}
frames: {frames}
checkpoint_every_s: 1
"""
    + SMALL_CONFIG
    + """\
  min_time_s_per_iteration: 0.5
  num_env_runners: {runners}
  num_learners: {learners}
  intrinsic: {{counts: {counts}}}
"""
)


@dataclass(frozen=True)
class Setup:
    """What is trained, and which processes a trial has in addition to its own."""

    env: str = REAL_ENV
    runners: int = 0
    learners: int = 0
    seeds: tuple[int, ...] = (1,)
    options: tuple[str, ...] = ()


@dataclass(frozen=True)
class Snapshot:
    """What each trial had on the disk at one moment: its curve's rows (`rows`), and the frames of
    its newest checkpoint (`kept`), or 0 without one.
    """

    rows: dict[str, list[dict[str, str]]]
    kept: dict[str, int]


class Session:
    """One `rllib-ride run` and its output, in its own process group as in a terminal."""

    def __init__(self, args: Sequence[str], folder: Path, log: Path, order: Path) -> None:
        self._out, self._err = log.with_suffix(".out"), log.with_suffix(".err")
        with self._out.open("wb") as out, self._err.open("wb") as err:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "rllib_ride.cli", *args],
                cwd=folder,
                env={**os.environ, ORDER_VARIABLE: str(order), "OMP_NUM_THREADS": "1"},
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                start_new_session=True,
            )

    @property
    def code(self) -> int | None:
        """The exit code; None while it runs."""
        return self.process.poll()

    @property
    def running(self) -> bool:
        """Whether it has not ended yet."""
        return self.code is None

    @property
    def out(self) -> str:
        """Its stdout so far."""
        return self._out.read_text(errors="replace")

    @property
    def err(self) -> str:
        """Its stderr so far."""
        return self._err.read_text(errors="replace")

    def signal(self, signum: int, *, group: bool = False) -> None:
        """Sends it a signal, or its whole process group, as a terminal does."""
        if self.running:
            (os.killpg if group else os.kill)(self.process.pid, signum)

    def end(self) -> None:
        """Kills it."""
        self.signal(signal.SIGKILL, group=True)
        self.process.wait(timeout=30)


class Training:
    """One experiment's folder, and the newest session that trains in it.

    Args:
        folder: Folder of the YAML, the storage and the command's output.
        setup: What is trained.
        frames: Frames of each trial.
    """

    session: Session

    def __init__(self, folder: Path, setup: Setup, frames: int) -> None:
        self.folder, self.setup, self.frames = folder, setup, frames
        self.storage, self.order = folder / "runs", folder / "order"
        self._sessions = 0
        folder.mkdir(parents=True, exist_ok=True)
        text = _EXPERIMENT.format(
            env=setup.env,
            seeds=list(setup.seeds),
            frames=frames,
            runners=setup.runners,
            learners=setup.learners,
            counts="full" if setup.env == REAL_ENV else "view",
        )
        (folder / "chaos.yaml").write_text(text)

    def start(self) -> None:
        """Starts a session, with --resume if there is a run to go on with."""
        self.session = self.launch(resume=(self.storage / "chaos" / TRIALS_FILE).exists())

    def launch(self, *, resume: bool) -> Session:
        """Starts another session, even if one is running."""
        self._sessions += 1
        log = self.folder / f"session_{self._sessions:02}"
        args = ["run", "chaos.yaml", *self.setup.options, *(["--resume"] if resume else [])]
        return Session(args, self.folder, log, self.order)

    @property
    def trials(self) -> list[Path]:
        """The folders of its trials."""
        return sorted(path for path in (self.storage / "chaos").glob("ride_*") if path.is_dir())

    def curves(self) -> dict[str, list[dict[str, str]]]:
        """Each trial's curve."""
        return {path.name: read_curve(path / CURVE_FILE) for path in self.trials}

    def reached(self) -> int:
        """The sum of the frames in all curves' last rows."""
        return sum(int(rows[-1]["frames"]) for rows in self.curves().values() if rows)

    def snapshot(self, settled_s: float = 0.0) -> Snapshot:
        """Curves, and checkpoints of at least this age, whose rows are in the curves by then."""
        before = time.time() - settled_s
        kept = {}
        for trial in self.trials:
            settled = [
                int(result["frames"])
                for path, result in whole_checkpoints(trial)
                if _written(path / SEAL_FILE) <= before
            ]
            kept[trial.name] = max(settled, default=0)
        return Snapshot(rows=self.curves(), kept=kept)

    def remove(self) -> None:
        """Deletes all that the training wrote."""
        shutil.rmtree(self.folder, ignore_errors=True)


def crash(*, spare: Sequence[int] = ()) -> None:
    """Kills every process of this machine at once, like a power failure."""
    for _ in range(2):  # the second time for processes that were just starting
        machine.kill(pid for pid in machine.processes() if pid not in spare)


def _written(path: Path) -> float:
    """When a path was written, in seconds since the epoch; infinitely late if it is gone."""
    try:
        return path.stat().st_mtime
    except OSError:
        return float("inf")
