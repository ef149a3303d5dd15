"""Wording of messages: texts of others on one line and cut short, and names that are refused."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
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


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The entry of `known` that `word` was most likely meant to be, upper and lower case alike."""
    by_lower = {name.lower(): name for name in known}
    found = difflib.get_close_matches(word.lower(), by_lower, n=1, cutoff=0.6)
    return by_lower[found[0]] if found else None


def unknown(kind: str, word: str, known: Iterable[str], listing: str | None = None) -> str:
    """A sentence refusing `word`: the nearest known name, then all of them or else `listing`."""
    names = sorted(known)
    guess = nearest(word, names)
    end = f"; did you mean {guess!r}?" if guess else "."
    return f"{kind} {shown(word)} is unknown{end} {listing or 'Known: ' + ', '.join(names)}"


def last_line(text: object) -> str:
    """The last line with anything on it; of a traceback, the one that says what happened."""
    lines = [line.strip() for line in str(text).splitlines() if line.strip()]
    return lines[-1] if lines else ""
