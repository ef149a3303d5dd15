"""Runs command lines of `rllib-ride`, in this process or in one with bounded memory."""

from __future__ import annotations

import io
import json
import resource
import subprocess
import sys
import time
import traceback
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import asdict, dataclass
from pathlib import Path

from rllib_ride.cli import main

GIB = 1 << 30


@dataclass(frozen=True)
class Answer:
    """How a command line ended.

    Attributes:
        code: Exit code; -1 for an exception, whose traceback is in `err`.
        out: What it printed on stdout.
        err: What it printed on stderr.
        cpu_s: CPU seconds that it took.
    """

    code: int
    out: str
    err: str
    cpu_s: float


def typed(*argv: object) -> Answer:
    """Runs the command in this process; exceptions propagate."""
    began = time.process_time()
    with redirect_stdout(io.StringIO()) as out, redirect_stderr(io.StringIO()) as err:
        code = main([str(arg) for arg in argv])
    return Answer(code, out.getvalue(), err.getvalue(), time.process_time() - began)


def typed_apart(argvs: Sequence[Sequence[object]], folder: Path, *, gib: float) -> list[Answer]:
    """Runs command lines in sequence, in a process with `gib` GiB of address space."""
    done = subprocess.run(
        [sys.executable, __file__, str(int(gib * GIB))],
        input=json.dumps([[str(arg) for arg in argv] for argv in argvs]),
        cwd=folder,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return [Answer(**answer) for answer in json.loads(done.stdout)]


def is_one_message(text: str) -> bool:
    """Whether the text is one readable line: printable, not too long, no traceback."""
    line = text.removesuffix("\n")
    return bool(line) and line.isprintable() and len(line) < 4000 and "Traceback" not in line


def _answer(argv: list[str]) -> Answer:
    try:
        return typed(*argv)
    except BaseException:
        return Answer(-1, "", traceback.format_exc(), 0.0)


if __name__ == "__main__":
    limit = int(sys.argv[1])
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    print(json.dumps([asdict(_answer(argv)) for argv in json.load(sys.stdin)]))
