"""Fixtures that several rooms use."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
import ray


@pytest.fixture(scope="session", autouse=True)
def ctrl_c_is_heeded() -> Iterator[None]:
    """Tests send it, to themselves and to commands; what a shell's `&` started ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="session")
def ray_session() -> Iterator[None]:
    """A local Ray for tests that need actors or an object store."""
    started = not ray.is_initialized()
    if started:
        ray.init(
            num_cpus=4,
            include_dashboard=False,
            log_to_driver=False,
            logging_level="error",
            runtime_env={"env_vars": {"PYTHONPATH": str(Path(__file__).parent)}},
        )
    yield
    if started:
        ray.shutdown()
