"""Reads `curve.csv`, even if it is damaged or incomplete."""

from __future__ import annotations

import csv
import io
import warnings
from pathlib import Path

import numpy as np
import pandas as pd

from rllib_ride.reading import MIB, read_bytes
from rllib_ride.run_files import CURVE_COLUMNS as COLUMNS
from rllib_ride.wording import shown

_MOST_BYTES = 64 * MIB  # nine days at about 80 bytes per row and at most one row per second
_LONGEST_LINE = 1000  # bytes
_LARGEST = {"frames": 1e15, "episodes": 1e15}
_LARGEST_FLOAT32 = 3.4e38  # the type of a trial's metrics


def read_curve(path: Path) -> tuple[pd.DataFrame, list[str]]:
    """Reads a curve, and describes the file's faults; an intact file of a trial has none.

    Returns:
        `COLUMNS` as floats, with increasing frames; NaN where there is no value, such as a return
        before the first episode ended. No rows if the file is missing or unusable. Then the faults.
    """
    faults: list[str] = []
    try:
        content = read_bytes(path, _MOST_BYTES)
    except FileNotFoundError:
        return _no_rows(), faults
    except ValueError as error:
        return _no_rows(), [f"cannot be read, {error}"]
    content = content.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    complete = content[: content.rfind(b"\n") + 1]
    if complete != content:
        faults.append("its last line is cut short and left out")
    cells = _cells(complete)
    if "frames" not in cells:
        if complete:
            faults.append(f"column 'frames' is missing, expected {', '.join(COLUMNS)}")
        return _no_rows(), faults
    missing = [column for column in COLUMNS if column not in cells]
    if missing:
        faults.append(f"without column {', '.join(map(repr, missing))}")
    no_rows = complete.count(b"\n") - 1 - len(cells)
    if no_rows:
        faults.append(f"{no_rows} line{'s' if no_rows > 1 else ''} left out as no row")
    curve = pd.DataFrame({column: _numbers(cells, column, faults) for column in COLUMNS})
    return _rising(curve[curve["frames"].notna()], faults), faults


def _no_rows() -> pd.DataFrame:
    return pd.DataFrame(columns=list(COLUMNS), dtype=float)


def _cells(content: bytes) -> pd.DataFrame:
    """The file's cells, with numeric columns as numbers; drops rows with too many cells."""
    header, *rows = content.split(b"\n")
    if len(header) > _LONGEST_LINE:  # of millions of columns, perhaps
        return pd.DataFrame()
    if any(len(row) > _LONGEST_LINE for row in rows):
        content = b"\n".join([header, *(row for row in rows if len(row) <= _LONGEST_LINE)])
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", pd.errors.ParserWarning)  # about such rows
            return pd.read_csv(
                io.BytesIO(content),
                encoding_errors="replace",
                na_values={column: [""] for column in COLUMNS},
                keep_default_na=False,  # the text "nan" is a fault, an empty cell is not
                on_bad_lines="skip",
                quoting=csv.QUOTE_NONE,  # trials write no quotes; a stray one would open the rest
                index_col=False,
                low_memory=False,
            )
    except ValueError:  # no header
        return pd.DataFrame()


def _numbers(cells: pd.DataFrame, column: str, faults: list[str]) -> pd.Series:
    if column not in cells:
        return pd.Series(np.nan, index=cells.index)
    numbers = pd.to_numeric(cells[column], errors="coerce").astype(float)
    numbers = numbers.where(numbers.abs() <= _LARGEST.get(column, _LARGEST_FLOAT32))
    if column == "frames":
        numbers = numbers.where(numbers >= 0)
    bad = cells[column][numbers.isna() & cells[column].notna()]
    if len(bad):
        values = f"{len(bad)} values of {column!r}" if len(bad) > 1 else f"a value of {column!r}"
        faults.append(f"{values} left out as no number, the first {shown(str(bad.iloc[0]), 40)}")
    return numbers


def _rising(curve: pd.DataFrame, faults: list[str]) -> pd.DataFrame:
    """Drops rows whose frames are not below those of all later rows, as after a restart."""
    frames = curve["frames"].to_numpy()
    least_later = np.append(np.minimum.accumulate(frames[::-1])[::-1][1:], np.inf)
    leads = frames < least_later
    if not leads.all():
        faults.append(f"{(~leads).sum()} rows left out, whose frames come again in later rows")
    return curve[leads].reset_index(drop=True)
