"""Reads TensorBoard's event files: each record is length, checksum, protobuf, checksum."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

from tensorboardX.proto.event_pb2 import Event


def read_events(path: Path) -> Iterator[tuple[int, str, float]]:
    """Step, name and value of every scalar in the file."""
    data, at = path.read_bytes(), 0
    while at < len(data):
        (length,) = struct.unpack_from("<Q", data, at)
        event = Event.FromString(data[at + 12 : at + 12 + length])
        for value in event.summary.value:
            if value.HasField("simple_value"):
                yield event.step, value.tag, value.simple_value
        at += length + 16
