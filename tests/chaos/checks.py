"""What must hold after a fault, whatever it was. Each check returns what is wrong, in words."""

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
    """Tracebacks and crash reports, which no user can read."""
    found = _NOISE.search(text)
    return [f"says {found.group().strip()!r}: ...{text[-600:]}"] if found else []


def message(text: str, wanted: str) -> list[str]:
    """Whether text, of stderr, has one short message in it that has the pattern `wanted`."""
    lines = [line for line in text.splitlines() if line.strip() and not _PROGRESS.match(line)]
    problems = noise(text)
    if len(lines) > _MOST_LINES:
        problems.append(f"{len(lines)} lines are no clear message: {lines[:3]} ... {lines[-3:]}")
    if not re.search(wanted, "\n".join(lines)):
        problems.append(f"no message with {wanted!r}: {lines[-3:]}")
    return problems


# --- curve.csv ------------------------------------------------------------------------------------


def curve_text(text: str) -> list[str]:
    """Whether a curve's file is whole rows below one header, rising."""
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
    """Whether the rows up to a checkpoint of so many frames are all still there."""
    kept = [row for row in before if int(row["frames"]) <= frames]
    lost = [row["frames"] for row in kept if row not in now]
    if list(now[: len(kept)]) == kept:
        return []
    return [f"rows up to the checkpoint at {frames} frames: lost {lost}, or others among them"]


# --- checkpoints ----------------------------------------------------------------------------------


def checkpoints(trial: Path, rows: Rows) -> list[str]:
    """Whether each whole checkpoint is the policy of its frames, finite, and has its row."""
    problems = []
    for path, result in whole_checkpoints(trial):
        frames = int(result["frames"])
        try:
            policy = load_policy(path)
            networks = [policy.module, *(_module(path, name) for name in _MODULE_IDS)]
            trained = checkpoint_frames(path)
        except Exception as error:  # any at all is what this looks for
            if result_of(path) is not None:  # a newer one has not replaced it meanwhile
                problems.append(f"{path.name} does not load: {type(error).__name__}: {error}")
            continue
        if trained != frames:
            problems.append(f"{path.name} of {trained} frames says {frames}")
        if not all(torch.isfinite(p).all() for network in networks for p in network.parameters()):
            problems.append(f"{path.name} has weights that are no numbers")
        if frames and frames not in [int(row["frames"]) for row in rows]:  # none has no row
            problems.append(f"{path.name} of {frames} frames has no row in curve.csv")
    return problems


def _module(checkpoint: Path, module_id: str) -> TorchRLModule:
    return TorchRLModule.from_checkpoint(str(module_folder(checkpoint, module_id)))
