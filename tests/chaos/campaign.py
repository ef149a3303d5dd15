"""A campaign: real trainings, each hit by several faults, all checked after each."""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import os
import random
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from chaos import checks, machine
from chaos.cluster import ADDRESS, Cluster
from chaos.faults import KILLED, KINDS, NOTHING, Kind, Outcome, Scene
from chaos.training import BREAKABLE_ENV, Setup, Snapshot, Training, crash
from helpers.chaos_env import ORDER_VARIABLE
from helpers.waiting import comes_true
from rllib_ride.run_files import CURVE_FILE

PLACES = ("plain", "learner", "env", "disk", "cluster")
"""Kinds of training that faults hit: one process and MiniGrid, a remote Learner, an environment
that obeys orders, a small disk, two nodes."""

_FAULTS_A_TRAINING = 12
_FRAMES_A_FAULT = 1_200
_DISK_MB = 64
_STARTS_WITHIN_S = 12.0  # a fault at the start hits within this time
_WENT_ON = "went on"
_BEGINS_WITHIN_S = 30.0
_SETTLED_S = 2.0  # Tune knows of a checkpoint by then
_GONE_WITHIN_S = 90.0  # Ray's agents first look for their dead head for a minute
_FINISH_WITHIN_S = 300.0


@dataclass(frozen=True)
class Record:
    """One fault and its consequences.

    Attributes:
        kind: Key of `KINDS`.
        seed: Seed of the training; with `kinds`, it reproduces all random draws.
        kinds: All faults of that training.
        place: See `PLACES`.
        moment: When it hit: frames of training, or seconds after the start.
        did: What the fault did.
        then: What the command did then.
        problems: Checks that failed, in words.
        seconds: Time from the wait for the moment to the last check.
        at: UTC time of the last check.
    """

    kind: str
    seed: int
    kinds: list[str]
    place: str
    moment: str
    did: str
    then: str
    problems: list[str]
    seconds: float
    at: str

    @property
    def line(self) -> str:
        """The record on one line, with its problems below."""
        verdict = "FAILED" if self.problems else "ok"
        told = f"{self.at} {verdict:6} {self.kind:18} seed {self.seed}, {self.moment}: {self.did}"
        problems = "".join(f"\n    {problem}" for problem in self.problems)
        return f"{told}; {self.then} ({self.seconds:.0f} s){problems}"


def main() -> int:
    """Runs a campaign; returns 1 if a fault left a problem."""
    # What a script's `&` started ignores Ctrl-C, and so would the commands that this starts.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    args = _arguments()
    if args.counts:
        lines = args.counts.read_text().splitlines()
        print(counts([Record(**json.loads(line)) for line in lines]))
        return 0
    rng = random.Random(args.seed)
    queue = plan(args.kind or list(KINDS), args.faults, rng)
    records: list[Record] = []
    seeds = itertools.count(args.seed * 1000)
    with tempfile.TemporaryDirectory(prefix="chaos") as work:
        os.environ["RAY_TMPDIR"] = work
        while queue:
            kinds = queue.pop(0)
            seed = next(seeds)
            folder = (args.keep or Path(work)).resolve() / f"training_{seed}"
            done = []
            for record in break_training(kinds, seed, folder, keep=args.keep is not None):
                done.append(record)
                print(record.line, flush=True)
                if args.out:
                    with args.out.open("a") as file:
                        file.write(json.dumps(asdict(record)) + "\n")
            records += done
            if not done:
                print(f"training {seed} took no fault: {', '.join(kinds)} left out", flush=True)
            elif left := kinds[len(done) :]:
                queue.append(left)
    print(f"\nseed {args.seed}\n{counts(records)}")
    return 1 if any(record.problems for record in records) else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="tests/chaos/run.py", description=__doc__)
    parser.add_argument("--faults", type=int, default=20, metavar="N", help="default: 20")
    parser.add_argument("--seed", type=int, default=0, help="of all that is random; default: 0")
    parser.add_argument("--kind", action="append", choices=KINDS, help="only this (repeatable)")
    parser.add_argument("--out", type=Path, metavar="FILE", help="JSON lines to append to")
    parser.add_argument("--counts", type=Path, metavar="FILE", help="only count what FILE has")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="keep the trainings' folders")
    return parser.parse_args()


def plan(kinds: Sequence[str], faults: int, rng: random.Random) -> list[list[str]]:
    """Draws `faults` faults, all kinds equally often, grouped by the training that they hit."""
    rounds = [rng.sample(kinds, len(kinds)) for _ in range(-(-faults // len(kinds)))]
    drawn = list(itertools.chain.from_iterable(rounds))[:faults]
    trainings = []
    for place in PLACES:
        here = [kind for kind in drawn if KINDS[kind].place == place]
        trainings += [
            here[first : first + _FAULTS_A_TRAINING]
            for first in range(0, len(here), _FAULTS_A_TRAINING)
        ]
    return rng.sample(trainings, len(trainings))


def counts(records: Sequence[Record]) -> str:
    """A Markdown table of faults by kind and by consequence."""
    lines = [
        "| kind | faults | went on by itself | stopped, and resumed | failed |",
        "|---|---|---|---|---|",
    ]
    for kind in (*KINDS, "all"):
        of_kind = [record for record in records if kind in (record.kind, "all")]
        held = [record for record in of_kind if not record.problems]
        went_on = sum(record.then.startswith(_WENT_ON) for record in held)
        numbers = len(of_kind), went_on, len(held) - went_on, len(of_kind) - len(held)
        if of_kind:
            lines.append(f"| {kind} | {' | '.join(map(str, numbers))} |")
    return "\n".join(lines)


# --- one training ---------------------------------------------------------------------------------


def break_training(kinds: list[str], seed: int, folder: Path, *, keep: bool) -> Iterator[Record]:
    """Trains with these faults one after the other; ends early if one leaves nothing to go on."""
    rng = random.Random(f"{seed} {kinds}")
    place = KINDS[kinds[0]].place
    training = Training(folder, _setup(place, kinds, rng), (len(kinds) + 1) * _FRAMES_A_FAULT)
    os.environ[ORDER_VARIABLE] = str(training.order)  # for the checks, which make environments too
    try:
        with contextlib.ExitStack() as stack:
            scene = Scene(training, rng)
            if place == "disk":
                stack.enter_context(machine.small_disk(training.storage, _DISK_MB))
            if place == "cluster":
                scene.cluster = Cluster()
                scene.cluster.start()
            training.start()
            for number, name in enumerate(kinds):
                record = _fault(scene, name, number, kinds, seed)
                if record is None:
                    return
                yield record
                if record.problems:
                    return
    finally:
        crash()
        if not keep:
            training.remove()


def _setup(place: str, kinds: Sequence[str], rng: random.Random) -> Setup:
    runners = 1 if "kill_env_runner" in kinds else rng.randint(0, 1)
    match place:
        case "learner":
            return Setup(learners=1)
        case "env":
            return Setup(env=BREAKABLE_ENV, runners=runners)
        case "cluster":
            return Setup(seeds=(1, 2), options=("--address", ADDRESS))
    return Setup(runners=runners)


def _fault(scene: Scene, name: str, number: int, kinds: list[str], seed: int) -> Record | None:
    """Applies one fault and runs all checks; None if the training had ended before it."""
    kind, training, began = KINDS[name], scene.training, time.monotonic()
    scene.problems = []
    moment = _moment(scene, kind, number)
    if moment is None:
        return None
    problems, did, then = scene.problems, "", ""
    try:
        before, said = training.snapshot(_SETTLED_S), len(training.session.err)
        did = kind.strike(scene)
        # What was killed does not end with 0: the training had ended just before.
        if training.session.code == 0 and (did == NOTHING or kind.codes == KILLED):
            return None
        then = _aftermath(scene, kind, before, said, problems)
        if not problems and number == len(kinds) - 1:
            problems += _finish(scene)
            then += ", finished"
    except Exception:  # in the suite itself; the campaign goes on without this training
        problems.append(traceback.format_exc())
    return Record(
        kind=name,
        seed=seed,
        kinds=kinds,
        place=kind.place,
        moment=moment,
        did=did,
        then=then,
        problems=problems,
        seconds=round(time.monotonic() - began, 1),
        at=time.strftime("%H:%M:%S", time.gmtime()),
    )


def _moment(scene: Scene, kind: Kind, number: int) -> str | None:
    """Waits for a random moment of the training or its start; None if the training ends first."""
    training, rng = scene.training, scene.rng
    if kind.at_start and rng.random() < 0.25:
        if number:
            crash()
            training.session.process.wait(timeout=30)
            training.start()
        # Waits for our signal handler: before it is set, Python is still importing our code and
        # handles signals itself.
        pid = training.session.process.pid
        comes_true(lambda: machine.catches(pid, signal.SIGTERM), _BEGINS_WITHIN_S)
        pause = rng.uniform(0, _STARTS_WITHIN_S)
        comes_true(lambda: not training.session.running, pause)
        return f"{pause:.1f} s after its start" if training.session.running else None
    goal = int((number + rng.uniform(0, 0.7)) * _FRAMES_A_FAULT * len(training.setup.seeds))
    pause = rng.uniform(0, 1)  # rows come once a second
    comes_true(lambda: not training.session.running or training.reached() > goal, _FINISH_WITHIN_S)
    time.sleep(pause)
    if not training.session.running:
        return None
    return f"at {training.reached():,} frames"


# --- what came of it ------------------------------------------------------------------------------


def _aftermath(scene: Scene, kind: Kind, before: Snapshot, said: int, problems: list[str]) -> str:
    """Waits until the training has gone on, by itself or resumed; adds to `problems`."""
    training = scene.training
    struck = time.monotonic()
    if kind.outcome is not Outcome.STOPS:
        time.sleep(3)  # for results that were in flight
        problems += _goes_on(training, training.reached(), kind.within_s)
    elif not comes_true(lambda: not training.session.running, kind.within_s):
        problems.append(f"neither stopped nor was killed within {kind.within_s:.0f} s")
    took, code = time.monotonic() - struck, training.session.code
    if problems:
        return f"code {code}, {took:.0f} s"
    if code in (None, 0) and kind.outcome is not Outcome.STOPS:
        problems += _files(training, before)
        return f"{_WENT_ON} within {took:.0f} s"

    problems += _stopped(training, kind, said)
    left = _left(scene)
    at_stop, reached = training.snapshot(), training.reached()
    if code == 130 and kind.keeps_all and reached != sum(at_stop.kept.values()):
        problems.append(f"rows to {reached}, but checkpoints of {at_stop.kept}")
    kind.repair(scene)
    stopped = time.monotonic()
    training.start()
    problems += _goes_on(training, reached, kind.within_s)
    if training.session.code not in (None, 0):
        problems.append(f"resumed, it ended with {training.session.code}")
    problems += _files(training, at_stop)
    # Only after the resumption: a person would not wait for leftover processes either, and these
    # must not disturb the next session.
    problems += _still_there(left, _GONE_WITHIN_S - (time.monotonic() - stopped))
    return f"stopped with {code} after {took:.0f} s, resumed"


def _goes_on(training: Training, reached: int, within_s: float) -> list[str]:
    """Waits for frames beyond `reached`, or for the command's end."""
    session = training.session
    if comes_true(lambda: not session.running or training.reached() > reached, within_s):
        return []
    return [f"no frames beyond {reached:,} within {within_s:.0f} s: ...{session.err[-300:]}"]


def _stopped(training: Training, kind: Kind, said: int) -> list[str]:
    """Checks that a command that has stopped did so cleanly."""
    session, problems = training.session, []
    if session.code not in kind.codes:
        expected = " or ".join(map(str, kind.codes)) or "no end"
        problems.append(f"ended with {session.code}, not {expected}: ...{session.err[-600:]}")
    elif session.code != -signal.SIGKILL:
        problems += checks.message(session.err[said:], kind.says or "")
    return problems + checks.noise(session.out)


def _left(scene: Scene) -> dict[int, str]:
    """Leftover processes of a run whose command has ended, with their titles."""
    of_nodes = scene.cluster.daemons() if scene.cluster else []
    return {pid: title for pid, title in machine.processes().items() if pid not in of_nodes}


def _still_there(left: Mapping[int, str], within_s: float) -> list[str]:
    """Reports which of these processes are not gone within `within_s` seconds."""

    def titles() -> list[str]:
        return sorted(left[pid][:60] for pid in left.keys() & machine.processes().keys())

    if comes_true(lambda: not titles(), within_s):
        return []
    return [f"{len(titles())} processes are left: {titles()[:5]}"]


def _files(training: Training, before: Snapshot) -> list[str]:
    """Checks curves and checkpoints, and that they keep what the snapshot's checkpoints covered."""
    problems = []
    for trial in training.trials:
        curve = trial / CURVE_FILE
        problems += checks.curve_text(curve.read_text() if curve.exists() else "")
        rows = training.curves()[trial.name]
        if trial.name in before.rows:
            problems += checks.kept_rows(before.rows[trial.name], rows, before.kept[trial.name])
        problems += checks.checkpoints(trial, training.curves()[trial.name])
    return problems


def _finish(scene: Scene) -> list[str]:
    """Waits for the end, and checks that it is the same as without any fault."""
    training, session = scene.training, scene.training.session
    if not comes_true(lambda: not session.running, _FINISH_WITHIN_S):
        return [f"not finished within {_FINISH_WITHIN_S:.0f} s: ...{session.err[-300:]}"]
    problems = checks.noise(session.out) + checks.noise(session.err)
    if session.code != 0:
        problems.append(f"ended with {session.code}, not 0: ...{session.err[-600:]}")
    for name, rows in training.curves().items():
        if not rows or int(rows[-1]["frames"]) < training.frames:
            problems.append(f"{name} ends at {rows[-1:]}, before {training.frames} frames")
    problems += _files(training, training.snapshot()) + _still_there(_left(scene), _GONE_WITHIN_S)
    if not scene.cluster and not comes_true(lambda: not machine.listening(), 5):
        problems.append(f"ports are left open: {sorted(machine.listening())}")
    return problems


if __name__ == "__main__":
    sys.exit(main())
