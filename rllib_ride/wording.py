"""Texts of others in a message of ours: on one line, and no longer than a line should be."""

from __future__ import annotations

from typing import Any

_LONGEST = 1000  # of what others say, who may repeat a value of any length


def shown(value: Any, most: int = 200) -> str:
    """The value as Python writes it, cut short after `most` characters."""
    text = repr(value)
    return text if len(text) <= most else f"{text[:most]}... ({len(text):,} characters)"


def one_line(text: object) -> str:
    """The text, such as that of an error, on one line that a terminal can show."""
    joined = " ".join(str(text).split())
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in joined)


def told(error: BaseException) -> str:
    """What an error says, on one line of `_LONGEST` characters; its class where it says nothing."""
    text = one_line(error) or type(error).__name__
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."
