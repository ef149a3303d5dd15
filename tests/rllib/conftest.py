"""Fixtures of the tests of the RLlib integration."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from ray.rllib.algorithms.algorithm import Algorithm
from ray.rllib.algorithms.algorithm_config import AlgorithmConfig


@pytest.fixture
def build(ray_session: None) -> Iterator[Callable[[AlgorithmConfig], Algorithm]]:
    """Builds algorithms, and stops them when the test ends."""
    algos: list[Algorithm] = []

    def build_(made: AlgorithmConfig) -> Algorithm:
        algos.append(made.build_algo())
        return algos[-1]

    yield build_
    for algo in algos:
        algo.stop()
