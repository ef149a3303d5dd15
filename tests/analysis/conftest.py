"""Checkpoints that several tests use."""

from __future__ import annotations

from pathlib import Path

import pytest

from helpers.checkpoints import write_untrained


@pytest.fixture(scope="session")
def checkpoints(ray_session: None, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Untrained algorithms of a task of two rooms, by method and counts."""
    folder, env = tmp_path_factory.mktemp("checkpoints"), "MiniGrid-MultiRoom-N2-S4-v0"
    return {
        f"{method}_{counts}": write_untrained(
            folder / f"{method}_{counts}_seed1" / "checkpoint_000000", method, env, counts=counts
        )
        for method, counts in (("ride", "full"), ("ride", "view"), ("none", "full"))
    }
