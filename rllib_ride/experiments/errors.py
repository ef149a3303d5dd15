"""The one exception that says "your input is wrong"."""

from __future__ import annotations


class ConfigError(ValueError):
    """Bad input from a person; the message names the file, the key, the value and what is right."""
