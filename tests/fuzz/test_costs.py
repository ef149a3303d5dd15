"""Refusing the worst files costs at most two seconds of a core and a gibibyte."""

from __future__ import annotations

import os
import resource
from collections.abc import Callable
from pathlib import Path

import pytest

from helpers.command import command
from helpers.typed import Answer, is_one_message, typed_apart

GOOD = """experiment: x
env: MiniGrid-Empty-5x5-v0
method: none
preset: tuned
seed: 1
frames: 1e6
"""


def laughs(first: str, next_: str, levels: int = 30) -> str:
    """YAML in which each level repeats the one before ten times ("billion laughs")."""
    lines = [f"a0: &a0 {first}"]
    for n in range(1, levels):
        lines.append(f"a{n}: &a{n} " + next_.format(", ".join([f"*a{n - 1}"] * 10)))
    return "\n".join(lines) + "\n"


FULL = 2**16 - 100
WORST: dict[str, tuple[str, str]] = {
    "lists that laugh": (laughs("[ha]", "[{}]"), "aliases written out"),
    "merges that laugh": (laughs("{x: 1}", "{{<<: [{}]}}"), "aliases written out"),
    "a text that laughs": (f"a: &a {'ha' * 30_000}\nb: [*a, *a, *a]\n", "aliases written out"),
    "a list in itself": ("config: &a [*a]\n", "stands in the very part"),
    "a mapping in itself": ("config: &a {b: *a}\n", "stands in the very part"),
    "deep brackets": ("config: " + "[" * FULL, "nested more than 30 levels deep"),
    "deep braces": ("config: " + "{a: " * (FULL // 4), "nested more than 30 levels deep"),
    "deep lines": (
        "".join(f"{' ' * n}a:\n" for n in range(340)),
        "nested more than 30 levels deep",
    ),
    "deep dashes": ("config: " + "\n" + "- " * (FULL // 2), "nested more than 30 levels deep"),
    "deep aliases": (
        "a0: &a0 [x]\n" + "".join(f"a{n}: &a{n} [*a{n - 1}]\n" for n in range(1, 100)),
        "nested more than 30 levels deep, aliases written out",
    ),
    "many values": (GOOD + "config: [" + "1," * (FULL // 2 - 60) + "]\n", "key 'config'"),
    "many seeds": (
        GOOD.replace("seed: 1", f"seed: [{','.join(map(str, range(10_500)))}]"),
        "make 10,500 trials, expected at most 10,000",
    ),
    "one seed many times": (
        GOOD.replace("seed: 1", f"seed: [{', '.join(['1'] * 20_000)}]"),
        "names a seed twice",
    ),
    "many keys": ("".join(f"k{n}:\n" for n in range(8_000)), "key 'k0' is unknown"),
    "many anchors": ("".join(f"k{n}: &a{n}\n" for n in range(4_000)), "key 'k0' is unknown"),
    "one long key": (f"? {'k' * FULL}\n: 1\n", "is unknown"),
    "one long text": (GOOD.replace("x\n", f"{'x' * 60_000}\n"), "must have at most 100 characters"),
    "one long environment": (GOOD.replace("MiniGrid", "M" * 60_000), "is unknown"),
    "a grid of 10^15": (
        GOOD + "grid:\n" + "".join(f"  k{n}: {list(range(10))}\n" for n in range(15)),
        "make more than 10^15 trials, expected at most 10,000",
    ),
    "digits": (GOOD.replace("seed: 1", f"seed: {'1' * 60_000}"), "has more than 64 bits"),
    "hexadecimal digits": (GOOD.replace("seed: 1", f"seed: 0x{'f' * 60_000}"), "64 bits"),
    "minutes": (GOOD.replace("seed: 1", f"seed: 1{':10' * 20_000}"), "64 bits"),
    "quotes": ("'" + "''" * (FULL // 2), "line 1: "),
    "comments": ("#" * 2**18, "longer than 65,536 characters"),
    "lines": ("\n" * 2**16, "must hold keys and values"),
    "10 MB": (GOOD + "config: {" + "a: b, " * 1_700_000, "larger than 256 KiB"),
}


def pipe(path: Path) -> None:
    os.mkfifo(path)


SPECIAL: dict[str, tuple[Callable[[Path], None], str]] = {
    "a folder": (Path.mkdir, "it is a folder, expected a file"),
    "a pipe": (pipe, "it is a pipe, expected a file"),
    "endless zeros": (lambda path: path.symlink_to("/dev/zero"), "it is a device, expected a file"),
    "no text": (lambda path: path.write_bytes(b"\xff\xfe\0\1"), "can't decode"),
    "UTF-16": (lambda path: path.write_text(GOOD, "utf-16"), "can't decode"),
    "NULs": (lambda path: path.write_bytes(bytes(1000)), "#x0000"),
    "nothing": (Path.touch, "not nothing"),
    "two documents": (lambda path: path.write_text(GOOD + "---\n" + GOOD), "another document"),
    "a Python object": (
        lambda path: path.write_text("a: !!python/object:os.x {}\n"),
        "constructor",
    ),
    "a number for a key": (lambda path: path.write_text(GOOD + "config: {1: 2}"), "must be text"),
}


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Answer]:
    """What `check` answers to each file, all in one process with a gibibyte of memory."""
    folder = tmp_path_factory.mktemp("files")
    files = {name: folder / f"{name.replace(' ', '_')}.yaml" for name in (*WORST, *SPECIAL)}
    for name, (text, _) in WORST.items():
        files[name].write_text(text)
    for name, (make, _) in SPECIAL.items():
        make(files[name])
    argvs = [["check", path.name] for path in files.values()]
    return dict(zip(files, typed_apart(argvs, folder, gib=1), strict=True))


@pytest.mark.parametrize(
    ("name", "message"), [(name, message) for name, (_, message) in {**WORST, **SPECIAL}.items()]
)
def test_the_worst_files(answers: dict[str, Answer], name: str, message: str) -> None:
    answer = answers[name]
    assert answer.code == 2, answer.err
    assert answer.err.startswith(f"{name.replace(' ', '_')}.yaml") and message in answer.err
    assert is_one_message(answer.err) and answer.out == ""
    assert answer.cpu_s < 1.4  # starting Python and the package takes the rest of 2 s


def test_from_the_start_of_the_command_to_its_end(tmp_path: Path) -> None:
    (tmp_path / "x.yaml").write_text(WORST["merges that laugh"][0])
    before = resource.getrusage(resource.RUSAGE_CHILDREN)

    code, out, err = command("run", "x.yaml", "--dry-run", folder=tmp_path)

    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert code == 2 and out == "" and is_one_message(err)
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 2
