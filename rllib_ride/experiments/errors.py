"""The one exception that says "your input is wrong", its "did you mean", and values in it."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Any

_LONGEST = 200  # characters of a value in a message; a setting has a few


class ConfigError(ValueError):
    """Bad input from a person; the message names the file, the key, the value and what is right."""


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The entry of `known` that `word` was most likely meant to be, upper and lower case alike."""
    by_lower = {name.lower(): name for name in known}
    found = difflib.get_close_matches(word.lower(), by_lower, n=1, cutoff=0.6)
    return by_lower[found[0]] if found else None


def shown(value: Any) -> str:
    """The value as Python writes it, cut short where it is long."""
    text = repr(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}... ({len(text):,} characters)"


def one_line(text: str) -> str:
    """The text on one line that a terminal can show."""
    text = " ".join(text.split())
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def unknown(kind: str, word: str, known: Iterable[str], listing: str | None = None) -> str:
    """A sentence refusing `word`: the nearest known name, then all of them or else `listing`."""
    names = sorted(known)
    guess = nearest(word, names)
    end = f"; did you mean {guess!r}?" if guess else "."
    return f"{kind} {shown(word)} is unknown{end} {listing or 'Known: ' + ', '.join(names)}"
