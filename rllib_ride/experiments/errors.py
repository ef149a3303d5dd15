"""The exception for wrong input."""

from __future__ import annotations


class ConfigError(ValueError):
    """Bad input from a person; the message names file, key and value, and says what is right."""
