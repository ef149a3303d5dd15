"""The one exception that says "your input is wrong", beside the words for a name that is."""

from __future__ import annotations

from rllib_ride.wording import nearest, unknown

__all__ = ["ConfigError", "nearest", "unknown"]


class ConfigError(ValueError):
    """Bad input from a person; the message names the file, the key, the value and what is right."""
