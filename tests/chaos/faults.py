"""The kinds of faults: how to cause each, and what the command must do then."""

from __future__ import annotations

import enum
import errno
import random
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from chaos import checks, machine
from chaos.cluster import Cluster
from chaos.training import Session, Training, crash
from helpers.chaos_env import MESSAGE
from helpers.waiting import comes_true
from rllib_ride.experiments.checkpoints import whole_checkpoints
from rllib_ride.seal import SEAL_FILE

# A remote Learner is one of Ray Train's workers, _WrappedExecutable.
_TRIAL, _RUNNER, _LEARNER = "ray::TrialTrainable", "ray::BatchedEnvRunner", "Executable"
_HANGS_S = (5, 15, 60)


class Outcome(enum.Enum):
    """What the command must do after a fault."""

    GOES_ON = enum.auto()
    STOPS = enum.auto()
    EITHER = enum.auto()


@dataclass
class Scene:
    """Where a fault happens.

    Attributes:
        training: The training that it hits.
        rng: Source of all random draws.
        cluster: The Ray cluster that trains, if there is one.
        problems: What already went wrong while causing the fault, in words.
    """

    training: Training
    rng: random.Random
    cluster: Cluster | None = None
    problems: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Kind:
    """One kind of fault.

    Attributes:
        strike: Causes the fault, and returns what it did, in words.
        outcome: What the command must do then.
        place: The kind of training it needs, see `campaign.PLACES`.
        codes: Allowed exit codes if the command stops.
        says: Pattern that the message of a stopping command must match; None: it was killed.
        repair: Removes the cause before the run is resumed.
        at_start: Whether the fault may also hit before training has begun.
        keeps_all: Whether the checkpoint after a clean stop must cover the curve's last row.
        within_s: Seconds within which the command must have gone on or stopped.
    """

    strike: Callable[[Scene], str]
    outcome: Outcome
    place: str = "plain"
    codes: tuple[int, ...] = ()
    says: str | None = None
    repair: Callable[[Scene], None] = lambda scene: None
    at_start: bool = False
    keeps_all: bool = False
    within_s: float = 240.0


NOTHING = "nothing"
KILLED = (-signal.SIGKILL,)


# --- processes ------------------------------------------------------------------------------------


def _kill_one(scene: Scene, *titles: str) -> str:
    """Kills one process with one of these titles; waits for one if there is none yet."""
    comes_true(lambda: bool(machine.titled(*titles)), 30)
    found = {pid: machine.processes().get(pid, "") for pid in machine.titled(*titles)}
    if not found:
        scene.problems.append(f"nothing to kill: no process is named {titles}")
        return NOTHING
    pid = scene.rng.choice(sorted(found))
    machine.kill([pid])
    return f"killed {found[pid]}"


def _kill_env_runner(scene: Scene) -> str:
    return _kill_one(scene, _RUNNER)


def _kill_trial(scene: Scene) -> str:
    return _kill_one(scene, _TRIAL)


def _kill_learner(scene: Scene) -> str:
    return _kill_one(scene, _LEARNER)


def _kill_command(scene: Scene) -> str:
    scene.training.session.signal(signal.SIGKILL)
    return "killed the command"


def _crash(scene: Scene) -> str:
    number = len(machine.processes())
    crash()
    return f"killed all {number} processes"


# --- signals --------------------------------------------------------------------------------------


def _interrupt(signum: signal.Signals) -> Callable[[Scene], str]:
    def strike(scene: Scene) -> str:
        group = scene.rng.random() < 0.5
        scene.training.session.signal(signum, group=group)
        return f"{signum.name} to {'the process group' if group else 'the command'}"

    return strike


def _twice(signum: signal.Signals) -> Callable[[Scene], str]:
    def strike(scene: Scene) -> str:
        pause = scene.rng.uniform(0.05, 1.5)
        scene.training.session.signal(signum)
        time.sleep(pause)
        scene.training.session.signal(signum)
        return f"{signum.name}, and again after {pause:.2f} s"

    return strike


# --- what is on the disk --------------------------------------------------------------------------


def _tear_checkpoint(scene: Scene) -> str:
    """Kills everything, and damages the newest checkpoint as a kill at another moment would."""
    training, rng = scene.training, scene.rng
    comes_true(lambda: any(whole_checkpoints(trial) for trial in training.trials), 60)
    crash()
    training.session.process.wait(timeout=30)
    (trial,) = training.trials
    newest = max(path for path, _ in whole_checkpoints(trial))
    others = len(whole_checkpoints(trial)) - 1
    files = sorted(path for path in newest.rglob("*") if path.is_file())
    how = rng.choice(["cut a file", "removed files", "removed the seal", "cut the seal"])
    if how == "removed files":
        for path in rng.sample(files, rng.randint(1, len(files))):
            path.unlink()
    elif how == "removed the seal":
        (newest / SEAL_FILE).unlink()
    else:
        path = newest / SEAL_FILE if how == "cut the seal" else rng.choice(files)
        content = path.read_bytes()
        path.write_bytes(content[: rng.randrange(len(content))] if content else b"half")
    return f"killed all; {how} of {newest.name}, of {others} other checkpoint(s)"


def _tear_state(scene: Scene) -> str:
    """Kills everything, and truncates a file of Tune's state of the whole run."""
    folder = scene.training.storage / "chaos"
    comes_true(lambda: any(folder.glob("experiment_state-*.json")), 60)
    crash()
    scene.training.session.process.wait(timeout=30)
    newest = max(folder.glob("experiment_state-*.json"))
    path = scene.rng.choice([newest, *sorted(folder.glob("*.pkl"))])
    content = path.read_bytes()
    path.write_bytes(content[: scene.rng.randrange(len(content))])
    return f"killed all; cut {path.name}"


def _fill_disk(scene: Scene) -> str:
    filler = _filler(scene)
    written = 0
    with filler.open("wb", buffering=0) as file:
        for size in (1 << 20, 1 << 12, 1):
            try:
                while True:
                    written += file.write(b"\0" * size)
            except OSError as error:
                if error.errno != errno.ENOSPC:
                    raise
    return f"filled the disk with {written / 1e6:.0f} MB"


def _empty_disk(scene: Scene) -> None:
    _filler(scene).unlink(missing_ok=True)


def _filler(scene: Scene) -> Path:
    return scene.training.storage / "filler"


# --- the environment ------------------------------------------------------------------------------


def _order(*words: str) -> Callable[[Scene], str]:
    """Has the environment do something once, or at every step if the first word is `always`."""

    def strike(scene: Scene) -> str:
        order, part = scene.training.order, scene.training.order.with_name("order.part")
        told = [str(scene.rng.choice(_HANGS_S)) if word == "?" else word for word in words]
        part.write_text(" ".join(told))
        part.rename(order)
        taken = "always" in words or comes_true(lambda: not order.exists(), 60)
        if not taken:
            scene.problems.append("no environment took the order within 60 s")
        return f"the environment: {' '.join(told)}"

    return strike


def _no_order(scene: Scene) -> None:
    scene.training.order.unlink(missing_ok=True)


# --- a second run ---------------------------------------------------------------------------------


def _second_run(scene: Scene) -> str:
    """Starts a second session on the same folder; one of the two must be refused."""
    training, first = scene.training, scene.training.session
    resume = scene.rng.random() < 0.5
    second = training.launch(resume=resume)
    comes_true(lambda: not (first.running and second.running), 60)
    if first.running and second.running:
        scene.problems.append("two sessions run on one folder")
        second.end()
    elif first.code == 0:  # the first had just finished, so the second need not be refused
        second.end()
    else:
        refused, training.session = (first, second) if second.running else (second, first)
        scene.problems += _refused(refused, training.storage / "chaos")
    return f"started a second one {'with' if resume else 'without'} --resume"


def _refused(session: Session, folder: Path) -> list[str]:
    problems = checks.message(session.err, str(folder)) + checks.noise(session.out)
    return problems + ([f"the other ended with {session.code}"] if session.code != 2 else [])


# --- a cluster ------------------------------------------------------------------------------------


def _kill_worker(scene: Scene) -> str:
    assert scene.cluster is not None
    if scene.cluster.raylet(head=False) is None:  # an earlier fault killed it for good
        scene.cluster.start_worker()
    machine.kill(filter(None, [scene.cluster.raylet(head=False)]))
    if scene.rng.random() < 0.5:
        return "killed the worker's raylet, for good"
    pause = scene.rng.uniform(1, 10)
    time.sleep(pause)
    scene.cluster.start_worker()
    return f"killed the worker's raylet; another after {pause:.0f} s"


def _kill_head(scene: Scene) -> str:
    assert scene.cluster is not None
    with_command = scene.rng.random() < 0.5
    machine.kill(scene.cluster.head())
    if with_command:
        scene.training.session.signal(signal.SIGKILL)
    return f"killed the head{' and the command on it' if with_command else ''}"


def _new_cluster(scene: Scene) -> None:
    assert scene.cluster is not None
    crash()
    scene.cluster.start()


_INTERRUPTED = (130,)


def _interrupted(
    strike: Callable[[Scene], str],
    codes: tuple[int, ...] = _INTERRUPTED,
    *,
    keeps_all: bool = False,
) -> Kind:
    """A signal to the command, which may hit while it starts."""
    return Kind(
        strike,
        Outcome.STOPS,
        codes=codes,
        says="interrupted",
        at_start=True,
        keeps_all=keeps_all,
    )


KINDS = {
    "kill_env_runner": Kind(_kill_env_runner, Outcome.GOES_ON),
    "kill_trial": Kind(_kill_trial, Outcome.GOES_ON),
    "kill_learner": Kind(_kill_learner, Outcome.GOES_ON, place="learner"),
    "kill_command": Kind(_kill_command, Outcome.STOPS, codes=KILLED, at_start=True),
    "crash": Kind(_crash, Outcome.STOPS, codes=KILLED, at_start=True),
    "sigint": _interrupted(_interrupt(signal.SIGINT), keeps_all=True),
    "sigterm": _interrupted(_interrupt(signal.SIGTERM), keeps_all=True),
    "sigint_twice": _interrupted(_twice(signal.SIGINT)),
    "sigterm_twice": _interrupted(
        _twice(signal.SIGTERM),
        codes=(*_INTERRUPTED, -signal.SIGTERM),  # if the command was just ending
    ),
    "torn_checkpoint": Kind(_tear_checkpoint, Outcome.STOPS, codes=KILLED),
    "torn_state": Kind(_tear_state, Outcome.STOPS, codes=KILLED),
    "two_runs": Kind(_second_run, Outcome.GOES_ON, at_start=True),
    "disk_full": Kind(
        _fill_disk,
        Outcome.STOPS,
        place="disk",
        codes=_INTERRUPTED,
        says="no space left on the disk",
        repair=_empty_disk,
    ),
    "env_raises": Kind(_order("raise"), Outcome.GOES_ON, place="env"),
    "env_always_raises": Kind(
        _order("always", "raise"),
        Outcome.STOPS,
        place="env",
        codes=(1,),
        says=MESSAGE,
        repair=_no_order,
        within_s=480.0,  # three retries, each with a new process
    ),
    "env_hangs": Kind(_order("hang", "?"), Outcome.GOES_ON, place="env"),
    "env_nan_reward": Kind(
        _order("nan"), Outcome.EITHER, place="env", codes=(1,), says="(?i)nan|finite"
    ),
    "env_wrong_shape": Kind(
        _order("shape"), Outcome.EITHER, place="env", codes=(1,), says=r"(?i)shape|\(6, 7, 3\)"
    ),
    "kill_worker_raylet": Kind(_kill_worker, Outcome.GOES_ON, place="cluster"),
    "kill_head": Kind(
        _kill_head,
        Outcome.STOPS,
        place="cluster",
        codes=(*_INTERRUPTED, *KILLED),
        says="the head of the Ray cluster has not answered",
        repair=_new_cluster,
    ),
}
