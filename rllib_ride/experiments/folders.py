"""Checks of output folders, which need not exist yet."""

from __future__ import annotations

import os
from pathlib import Path

from rllib_ride.experiments.errors import ConfigError


def nearest_existing(folder: Path) -> Path:
    """The folder itself, or else its nearest parent that exists."""
    return next(path for path in (folder, *folder.parents) if path.exists())


def check_writable(option: str, folder: Path) -> None:
    """Refuses a folder that cannot be created or written to, before any work is done for it.

    Args:
        option: The option that named the folder, with its value.
        folder: The folder.

    Raises:
        ConfigError: Names the option and what is in the way.
    """
    existing = nearest_existing(folder.resolve())
    if not existing.is_dir() or not os.access(existing, os.W_OK):
        raise ConfigError(f"{option}: {existing} is no folder that can be written to")
