"""Checks that must hold after any fault. Each returns a list of problems, in words."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import torch
from ray.rllib.core import DEFAULT_MODULE_ID
from ray.rllib.core.rl_module.torch import TorchRLModule

from rllib_ride.analysis.policy import load_policy
from rllib_ride.experiments.checkpoints import result_of, whole_checkpoints
from rllib_ride.experiments.curve import COLUMNS
from rllib_ride.rllib.ray_internals import checkpoint_frames, module_folder
from rllib_ride.rllib.settings import INTRINSIC_MODULE_ID

Rows = Sequence[Mapping[str, str]]

_NOISE = re.compile(
    r'Traceback \(most recent|^\s+File ".*", line \d+|Fatal Python error|\*\*\* SIG|Check failed'
    r"|terminate called|^\[.*\b[CEF] \d+ \d+\]",  # the last: a line of Ray's C++ log
    re.MULTILINE,
)
_PROGRESS = re.compile(
    r"^(\S+: [\d.,M]+ of [\d.,M]+ frames,|\.\.\. \d+ trials|curves while it trains:|Ray's dash)"
)
_MOST_LINES = 8
_MODULE_IDS = (DEFAULT_MODULE_ID, INTRINSIC_MODULE_ID)


# --- what the command said ------------------------------------------------------------------------


def noise(text: str) -> list[str]:
    """Finds tracebacks and crash reports, which no user can read."""
    found = _NOISE.search(text)
    return [f"says {found.group().strip()!r}: ...{text[-600:]}"] if found else []


def message(text: str, wanted: str) -> list[str]:
    """Checks that a text from stderr is one short message that matches the pattern `wanted`."""
    lines = [line for line in text.splitlines() if line.strip() and not _PROGRESS.match(line)]
    problems = noise(text)
    if len(lines) > _MOST_LINES:
        problems.append(f"{len(lines)} lines are no clear message: {lines[:3]} ... {lines[-3:]}")
    if not re.search(wanted, "\n".join(lines)):
        problems.append(f"no message with {wanted!r}: {lines[-3:]}")
    return problems


# --- curve.csv ------------------------------------------------------------------------------------


def curve_text(text: str) -> list[str]:
    """Checks that a curve's file is one header and whole rows, with rising frames and times."""
    if not text:
        return []
    header, *lines = text.split("\n")
    if header != ",".join(COLUMNS):
        return [f"curve.csv begins with {header!r}"]
    if lines[-1:] != [""]:
        return [f"curve.csv ends with half a row: {lines[-1]!r}"]
    rows = [dict(zip(COLUMNS, line.split(","), strict=False)) for line in lines[:-1]]
    if short := [line for line in lines[:-1] if line.count(",") != len(COLUMNS) - 1]:
        return [f"curve.csv has a row of other columns: {short[0]!r}"]
    problems = []
    for before, row in zip(rows, rows[1:], strict=False):
        if int(row["frames"]) <= int(before["frames"]):
            problems.append(f"frames {before['frames']} are followed by {row['frames']}")
        for name in ("wall_s", "episodes"):
            if float(row[name]) < float(before[name]):
                problems.append(f"{name} {before[name]} is followed by {row[name]}")
    return problems


def kept_rows(before: Rows, now: Rows, frames: int) -> list[str]:
    """Checks that all rows up to a checkpoint of this many frames are still there."""
    kept = [row for row in before if int(row["frames"]) <= frames]
    lost = [row["frames"] for row in kept if row not in now]
    if list(now[: len(kept)]) == kept:
        return []
    return [f"rows up to the checkpoint at {frames} frames: lost {lost}, or others among them"]


# --- checkpoints ----------------------------------------------------------------------------------


def checkpoints(trial: Path, rows: Rows) -> list[str]:
    """Checks that each whole checkpoint loads, has the frames it says, finite weights and a row."""
    problems = []
    for path, result in whole_checkpoints(trial):
        frames = int(result["frames"])
        try:
            policy = load_policy(path)
            networks = [policy.module, *(_module(path, name) for name in _MODULE_IDS)]
            trained = checkpoint_frames(path)
        except Exception as error:  # any exception is a problem
            if result_of(path) is not None:  # unless a newer checkpoint has replaced it meanwhile
                problems.append(f"{path.name} does not load: {type(error).__name__}: {error}")
            continue
        if trained != frames:
            problems.append(f"{path.name} of {trained} frames says {frames}")
        if not all(torch.isfinite(p).all() for network in networks for p in network.parameters()):
            problems.append(f"{path.name} has weights that are no numbers")
        if frames and frames not in [int(row["frames"]) for row in rows]:  # 0 frames have no row
            problems.append(f"{path.name} of {frames} frames has no row in curve.csv")
    return problems


def _module(checkpoint: Path, module_id: str) -> TorchRLModule:
    return TorchRLModule.from_checkpoint(str(module_folder(checkpoint, module_id)))
