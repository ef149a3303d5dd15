"""Reads `curve.csv`, whatever state its writer left it in."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pandas as pd

from rllib_ride.run_files import CURVE_COLUMNS as COLUMNS


def read_curve(path: Path) -> tuple[pd.DataFrame, list[str]]:
    """The curve, and in words what is wrong with the file: nothing, if a trial has written it.

    Returns:
        `COLUMNS` as floats, frames rising; NaN where there is nothing to report, such as a return
        before the first episode ended. No rows if the file is missing or holds nothing of use.
    """
    text = path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""
    faults = []
    complete = text[: text.rfind("\n") + 1]
    if complete != text:
        faults.append("its last line is cut short and left out")
    cells = _cells(complete)
    if "frames" not in cells:
        if complete:
            faults.append(f"column 'frames' is missing, want {', '.join(COLUMNS)}")
        return pd.DataFrame(columns=list(COLUMNS), dtype=float), faults
    missing = [column for column in COLUMNS if column not in cells]
    if missing:
        faults.append(f"without column {', '.join(map(repr, missing))}")
    no_rows = complete.count("\n") - 1 - len(cells)
    if no_rows:
        faults.append(f"{no_rows} line{'s' if no_rows > 1 else ''} left out as no row")
    curve = pd.DataFrame({column: _numbers(cells, column, faults) for column in COLUMNS})
    return _rising(curve[curve["frames"].notna()], faults), faults


def _cells(text: str) -> pd.DataFrame:
    """The file's cells, a column of numbers as numbers; a row of too many cells is left out."""
    if not text.strip():
        return pd.DataFrame()
    return pd.read_csv(
        io.StringIO(text),
        na_values={column: [""] for column in COLUMNS},
        keep_default_na=False,  # a text that says "nan" is a fault, an empty cell is none
        on_bad_lines="skip",
        index_col=False,
        low_memory=False,
    )


def _numbers(cells: pd.DataFrame, column: str, faults: list[str]) -> pd.Series:
    if column not in cells:
        return pd.Series(np.nan, index=cells.index)
    numbers = pd.to_numeric(cells[column], errors="coerce").astype(float)
    numbers = numbers.where(np.isfinite(numbers))
    bad = cells[column][numbers.isna() & cells[column].notna()]
    if len(bad):
        values = f"{len(bad)} values of {column!r}" if len(bad) > 1 else f"a value of {column!r}"
        faults.append(f"{values} left out as no number, the first {str(bad.iloc[0])!r}")
    return numbers


def _rising(curve: pd.DataFrame, faults: list[str]) -> pd.DataFrame:
    """The rows that lead to the last: one at or above a later row's frames is not its past."""
    frames = curve["frames"].to_numpy()
    least_later = np.append(np.minimum.accumulate(frames[::-1])[::-1][1:], np.inf)
    leads = frames < least_later
    if not leads.all():
        faults.append(f"{(~leads).sum()} rows left out, whose frames come again in later rows")
    return curve[leads].reset_index(drop=True)
