"""The one exception that says "your input is wrong", and its "did you mean"."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from rllib_ride.wording import shown


class ConfigError(ValueError):
    """Bad input from a person; the message names the file, the key, the value and what is right."""


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
