"""Prints tables to a terminal, a file or a pipe."""

from __future__ import annotations

from typing import Any


def print_table(rows: list[dict[str, Any]]) -> None:
    """Prints rows, which all have the same keys, under these keys as the head."""
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    table = Table(box=None)
    for name in rows[0] if rows else []:
        table.add_column(name, overflow="fold")
    for row in rows:
        table.add_row(*(escape(_cell(value)) for value in row.values()))  # [x] is text, not markup

    class PlainConsole(Console):
        def on_broken_pipe(self) -> None:
            raise BrokenPipeError  # rich would exit with code 1

    console = PlainConsole()
    if not console.is_terminal:  # a file or a pipe has no width to fit into
        console = PlainConsole(width=1000)
    console.print(table)


def rounded(row: dict[str, Any]) -> dict[str, Any]:
    """The row with its floats rounded to four significant digits."""
    return {k: float(f"{v:.4g}") if isinstance(v, float) else v for k, v in row.items()}


def _cell(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{number:g} {name}" for name, number in value.items())
    if value is None:
        return ""
    return f"{value:,}" if isinstance(value, int) else str(value)
