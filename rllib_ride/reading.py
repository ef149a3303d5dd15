"""Reads files that may be anything, with limits so that they cannot hang or fill the memory.

A path on a command line may be a pipe, a device or a folder. A file that was written to a full disk
may contain anything. The limits are on a file's type, size and JSON depth.
"""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any

MIB = 1 << 20
DEEPEST = 50
"""Most levels of a JSON document. RLlib's configs, the deepest written here, have eight."""


def read_bytes(path: Path, most: int) -> bytes:
    """The contents of a regular file.

    Args:
        path: The file.
        most: Its maximum size in bytes.

    Raises:
        FileNotFoundError: The file does not exist.
        ValueError: It cannot be read, is no regular file or is larger than `most`; says which.
    """
    try:
        mode = path.stat().st_mode
        if not stat.S_ISREG(mode):
            raise ValueError(f"it is a {_kind(mode)}, expected a file")
        with path.open("rb") as file:
            content = file.read(most + 1)  # files in /proc report no size
    except FileNotFoundError:
        raise
    except OSError as error:
        raise ValueError(error.strerror) from None
    if len(content) > most:
        raise ValueError(f"it is larger than {_size(most)}")
    return content


def read_json(path: Path, most: int) -> Any:
    """The contents of a JSON file, at most `DEEPEST` levels deep.

    Args:
        path: The file.
        most: Its maximum size in bytes.

    Raises:
        FileNotFoundError: The file does not exist.
        ValueError: See `read_bytes`; or it is not JSON, or too deep.
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
