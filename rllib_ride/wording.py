"""Wording of messages: shortens texts of others to one line, and rejects unknown names."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Any

_LONGEST = 1000  # characters of others' messages, which may quote long values


def shown(value: Any, most: int = 200) -> str:
    """The value's repr, cut off after `most` characters."""
    text = repr(value)
    return text if len(text) <= most else f"{text[:most]}... ({len(text):,} characters)"


def one_line(text: object) -> str:
    """The text, such as an error's, on one line, with unprintable characters escaped."""
    joined = " ".join(str(text).split())
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in joined)


def told(error: BaseException) -> str:
    """An error's message on one line, cut off after `_LONGEST` characters; its class if empty."""
    text = one_line(error) or type(error).__name__
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The entry of `known` that is most similar to `word`, ignoring case; None if none is."""
    by_lower = {name.lower(): name for name in known}
    found = difflib.get_close_matches(word.lower(), by_lower, n=1, cutoff=0.6)
    return by_lower[found[0]] if found else None


def unknown(kind: str, word: str, known: Iterable[str], listing: str | None = None) -> str:
    """A message that rejects `word`: suggests the nearest name, then lists all or `listing`."""
    names = sorted(known)
    guess = nearest(word, names)
    end = f"; did you mean {guess!r}?" if guess else "."
    return f"{kind} {shown(word)} is unknown{end} {listing or 'Known: ' + ', '.join(names)}"


def last_line(text: object) -> str:
    """The last line that is not blank; of a traceback, the one with the error."""
    lines = [line.strip() for line in str(text).splitlines() if line.strip()]
    return lines[-1] if lines else ""
