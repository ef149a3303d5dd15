"""Reads files that may be anything: of a kind, a size and a depth that cannot hang or fill memory.

A name on a command line may be a pipe, a device or a folder, and a file on a disk that ran full may
hold anything at all.
"""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any

MIB = 1 << 20
DEEPEST = 50
"""Levels of a JSON document; RLlib's configs, the deepest that are written here, have eight."""


def read_bytes(path: Path, most: int) -> bytes:
    """What is in a file.

    Args:
        path: The file.
        most: Bytes it may have.

    Raises:
        FileNotFoundError: There is none.
        ValueError: Why it cannot be read; no regular file, or larger than `most`, are reasons too.
    """
    try:
        mode = path.stat().st_mode
        if not stat.S_ISREG(mode):
            raise ValueError(f"it is a {_kind(mode)}, want a file")
        with path.open("rb") as file:
            content = file.read(most + 1)  # a file of /proc does not say its size
    except FileNotFoundError:
        raise
    except OSError as error:
        raise ValueError(error.strerror) from None
    if len(content) > most:
        raise ValueError(f"it is larger than {_size(most)}")
    return content


def read_json(path: Path, most: int) -> Any:
    """What is in a file of JSON, `DEEPEST` levels deep at most.

    Args:
        path: The file.
        most: Bytes it may have.

    Raises:
        FileNotFoundError: There is none.
        ValueError: See `read_bytes`; or it is no JSON, or too deep.
    """
    content = read_bytes(path, most)
    try:
        document = json.loads(content.decode("utf-8"))
    except ValueError as error:
        raise ValueError(f"not JSON, {error}") from None
    except RecursionError:
        document, deep = None, True
    else:
        deep = _is_deep(document)
    if deep:
        raise ValueError(f"it is nested more than {DEEPEST} levels deep")
    return document


def _is_deep(document: Any) -> bool:
    level = [document]
    for _ in range(DEEPEST):
        level = [inner for value in level for inner in _entries(value)]
    return bool(level)


def _entries(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []


def _kind(mode: int) -> str:
    kinds = {stat.S_ISDIR: "folder", stat.S_ISFIFO: "pipe", stat.S_ISSOCK: "socket"}
    return next((kind for is_kind, kind in kinds.items() if is_kind(mode)), "device")


def _size(number: int) -> str:
    return f"{number // MIB} MiB" if number >= MIB else f"{number // 1024} KiB"
