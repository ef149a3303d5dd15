"""Fixtures: one torch thread, as for the reference (tiny tensors do not need more), and a batch."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch

from helpers.transitions import random_transitions
from rllib_ride.intrinsic import Transitions


@pytest.fixture(scope="package", autouse=True)
def one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def transitions() -> Transitions:
    return random_transitions()
