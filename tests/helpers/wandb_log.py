"""Reads W&B's offline logs: LevelDB's log format, one protobuf per record."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

_BLOCK, _FILE_HEADER, _HEADER = 32768, 7, 7
_FULL, _LAST = 1, 4


@dataclass
class WandbLog:
    """One run's log.

    Attributes:
        id: The run's id; likewise `name`, `group`, `job_type` and `project`.
        config: What the run was started with.
        rows: Step and values of every logged row.
        artifacts: Names of the logged artifacts.
        files: Names of the other saved files.
    """

    id: str = ""
    name: str = ""
    group: str = ""
    job_type: str = ""
    project: str = ""
    config: dict[str, Any] = field(default_factory=dict)
    rows: list[tuple[int, dict[str, Any]]] = field(default_factory=list)
    artifacts: list[str] = field(default_factory=list)
    files: list[str] = field(default_factory=list)


def read_log(path: Path) -> WandbLog:
    """The log in a `run-*.wandb` file."""
    from wandb.proto.wandb_internal_pb2 import Record

    log = WandbLog()
    for data in _records(path.read_bytes()):
        record = Record.FromString(data)
        match record.WhichOneof("record_type"):
            case "run":
                run = record.run
                log.id, log.name, log.group = run.run_id, run.display_name, run.run_group
                log.job_type, log.project = run.job_type, run.project
                log.config = {i.key: json.loads(i.value_json) for i in run.config.update}
            case "history":
                items = {
                    item.key or "/".join(item.nested_key): json.loads(item.value_json)
                    for item in record.history.item
                }
                step = record.history.step.num if record.history.HasField("step") else None
                log.rows.append((items.pop("_step", step), items))
            case "artifact":
                log.artifacts.append(record.artifact.name)
            case "files":
                log.files += [file.path for file in record.files.files]
    return log


def _records(data: bytes) -> Iterator[bytes]:
    at, parts = _FILE_HEADER, b""
    while at + _HEADER <= len(data):
        left = _BLOCK - at % _BLOCK
        if left < _HEADER:  # too short for a header: padding
            at += left
            continue
        _, length, kind = struct.unpack_from("<IHB", data, at)
        parts += data[at + _HEADER : at + _HEADER + length]
        at += _HEADER + length
        if kind in (_FULL, _LAST):
            yield parts
            parts = b""
