"""The mean intrinsic reward by kind of action, in the layout of the paper's tables 1, 4 and 5."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from rllib_ride.analysis import tables
from rllib_ride.analysis.aggregate import bonus_stats
from rllib_ride.analysis.episode_record import Kind, Recording
from rllib_ride.envs.registration import OBSTRUCTED_MAZE_ID, multiroom_id

OTHER = "Other"
"""The column of all kinds of action without a column of their own."""

MOVING: Mapping[str, Kind] = {
    "Open Door": Kind.OPEN_DOOR,
    "Turn Left / Right": Kind.TURN,
    "Move Forward": Kind.MOVE_FORWARD,
}
OBJECTS: Mapping[str, Kind] = {
    "Open Door": Kind.OPEN_DOOR,
    "Pick Ball": Kind.PICK_BALL,
    "Pick Key": Kind.PICK_KEY,
    "Drop Key": Kind.DROP_KEY,
}


@dataclass(frozen=True)
class PaperTable:
    """A table of the paper.

    Attributes:
        name: Its number and its label in the paper's text.
        numbers: (mean, std) by method and column.
    """

    name: str
    numbers: Mapping[str, Mapping[str, tuple[float, float]]]


PAPER: Mapping[str, PaperTable] = {
    multiroom_id(7, 4): PaperTable(
        "table 1 (tab:intrinsic_reward_n7s4)",
        {
            "ride": {
                "Open Door": (0.0490, 0.0019),
                "Turn Left / Right": (0.0071, 0.0034),
                "Move Forward": (0.0181, 0.0116),
            },
            "rnd": {
                "Open Door": (0.0032, 0.0018),
                "Turn Left / Right": (0.0031, 0.0028),
                "Move Forward": (0.0026, 0.0017),
            },
            "icm": {
                "Open Door": (0.0055, 0.0003),
                "Turn Left / Right": (0.0052, 0.0003),
                "Move Forward": (0.0056, 0.0003),
            },
        },
    ),
    multiroom_id(12, 10): PaperTable(
        "table 4 (tab:intrinsic_reward_n12s10)",
        {
            "ride": {
                "Open Door": (0.0116, 0.0011),
                "Turn Left / Right": (0.0042, 0.0020),
                "Move Forward": (0.0032, 0.0016),
            },
            "rnd": {
                "Open Door": (0.0041, 0.0016),
                "Turn Left / Right": (0.0035, 0.0013),
                "Move Forward": (0.0034, 0.0012),
            },
            "icm": {
                "Open Door": (0.0082, 0.0003),
                "Turn Left / Right": (0.0074, 0.0005),
                "Move Forward": (0.0086, 0.0002),
            },
        },
    ),
    OBSTRUCTED_MAZE_ID: PaperTable(
        "table 5 (tab:intrinsic_reward_obstructed)",
        {
            "ride": {
                "Open Door": (0.0005, 0.0002),
                "Pick Ball": (0.0004, 0.0001),
                "Pick Key": (0.0004, 0.00001),
                "Drop Key": (0.0004, 0.00007),
                OTHER: (0.0003, 0.00001),
            },
            "rnd": {
                "Open Door": (0.0034, 0.0015),
                "Pick Ball": (0.0027, 0.0006),
                "Pick Key": (0.0026, 0.0060),
                "Drop Key": (0.0030, 0.0010),
                OTHER: (0.0025, 0.0006),
            },
        },
    ),
}


def actions_table(recordings: Mapping[str, Recording]) -> pd.DataFrame:
    """One row for each recording and each column of the paper's table.

    Args:
        recordings: By label; with bonuses, and all of one environment.

    Columns:
        label, method, env: The recording, its method and its environment.
        action: Column of the paper's table; every action is in exactly one.
        count: Number of such actions.
        mean, std: Of the intrinsic reward before its coefficient, over these actions.
        paper_mean, paper_std: The paper's values, NaN if it has none.
    """
    rows = []
    for label, recording in recordings.items():
        paper = PAPER.get(recording.env, PaperTable("", {})).numbers.get(recording.method, {})
        for action, kinds in _columns(recording.env).items():
            stats = bonus_stats(recording.episodes, kinds)
            paper_mean, paper_std = paper.get(action, (np.nan, np.nan))
            rows.append(
                {
                    "label": label,
                    "method": recording.method,
                    "env": recording.env,
                    "action": action,
                    **vars(stats),
                    "paper_mean": paper_mean,
                    "paper_std": paper_std,
                }
            )
    return pd.DataFrame(rows)


def kinds_table(recordings: Mapping[str, Recording]) -> pd.DataFrame:
    """One row for each recording and each kind of action that occurred, without the paper.

    Columns:
        label, kind, count, mean, std: As in `actions_table`.
    """
    return pd.DataFrame(
        [
            {"label": label, "kind": str(kind), **vars(stats)}
            for label, recording in recordings.items()
            for kind in Kind
            if (stats := bonus_stats(recording.episodes, {kind})).count
        ]
    )


def to_markdown(recordings: Mapping[str, Recording], about: str) -> str:
    """Both tables for people, with the paper's rows below the corresponding ones.

    Args:
        recordings: As for `actions_table`.
        about: A paragraph on what was recorded and how.
    """
    table = actions_table(recordings)
    env = next(iter(recordings.values())).env
    actions = list(_columns(env))
    paper = f"; rows of the paper: its {PAPER[env].name}" if env in PAPER else ""
    rows = []
    for label, recording in recordings.items():
        own = table[table.label == label].set_index("action").loc[actions]
        rows.append(_cells(label, own["mean"], own["std"]))
        if own.paper_mean.notna().any():
            rows.append(_cells(f"{recording.method}, paper", own.paper_mean, own.paper_std))
    kinds = [
        {
            "Model": row.label,
            "Kind": row.kind,
            "Actions": str(row.count),
            "Mean": _number(row.mean),
            "Std": _number(row.std),
        }
        for row in kinds_table(recordings).itertuples(index=False, name="Row")
    ]
    return (
        "# Mean intrinsic reward by action\n\n"
        f"{about}\n\n"
        f"Before its coefficient; std over actions{paper}. An action is told by what it did to the "
        f"level, not by the button pressed; {OTHER}: all that has no column of its own.\n\n"
        f"{tables.to_markdown(rows)}\n"
        "Every kind of action that occurred:\n\n"
        f"{tables.to_markdown(kinds)}"
    )


def _columns(env: str) -> dict[str, frozenset[Kind]]:
    """The kinds of action in each column of an environment's table; each is in exactly one."""
    named = OBJECTS if "ObstructedMaze" in env else MOVING
    columns = {name: frozenset({kind}) for name, kind in named.items()}
    return {**columns, OTHER: frozenset(set(Kind) - set(named.values()))}


def _cells(model: str, means: pd.Series, stds: pd.Series) -> dict[str, str]:
    """A table row of means and stds by action."""
    row = {"Model": model}
    for action in means.index:
        row |= {f"{action} Mean": _number(means[action]), f"{action} Std": _number(stds[action])}
    return row


def _number(value: float) -> str:
    """Four decimals as in the paper; five if rounding would change the number by over 5%."""
    if np.isnan(value):
        return "-"
    short = f"{value:.4f}"
    return short if abs(float(short) - value) <= 0.05 * abs(value) else f"{value:.5f}"
