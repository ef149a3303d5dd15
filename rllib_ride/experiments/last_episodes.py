"""Mean return and length over the last 100 episodes, across iterations.

RLlib's window of 100 only holds the episodes of one iteration, because every result empties its
metrics. On a slow machine or with long episodes, its means cover two or three episodes, or none.
"""

from __future__ import annotations

import json
import math
from collections import deque
from pathlib import Path
from typing import Any

from ray.rllib.utils.metrics import (
    ENV_RUNNER_RESULTS,
    EPISODE_LEN_MEAN,
    EPISODE_RETURN_MEAN,
    NUM_EPISODES,
)

from rllib_ride.rllib.ray_internals import EPISODE_RETURN_SQUARED_MEAN
from rllib_ride.run_files import WINDOW

FILE = "last_episodes.json"
_MEANS = (EPISODE_RETURN_MEAN, EPISODE_RETURN_SQUARED_MEAN, EPISODE_LEN_MEAN)


class LastEpisodes:
    """Means over the last 100 episodes, computed from each iteration's count and means."""

    def __init__(self) -> None:
        # (episodes, mean return, mean squared return, mean length) of each iteration, newest last.
        self._iterations: deque[list[float]] = deque()

    def update(self, result: dict[str, Any]) -> None:
        """Adds an iteration and overwrites the means in its result."""
        sampled = result.setdefault(ENV_RUNNER_RESULTS, {})
        means = [float(sampled.get(name, math.nan)) for name in _MEANS]
        episodes = min(float(sampled.get(NUM_EPISODES, 0)), WINDOW)
        if episodes > 0 and not any(map(math.isnan, means)):
            self._iterations.append([episodes, *means])
        while sum(n for n, *_ in self._iterations) - self._oldest() >= WINDOW:
            self._iterations.popleft()
        for name, mean in zip(_MEANS, self._means(), strict=True):
            sampled[name] = mean

    def save(self, folder: str | Path) -> None:
        """Saves the state into a checkpoint."""
        Path(folder, FILE).write_text(json.dumps(list(self._iterations)), encoding="utf-8")

    def load(self, folder: str | Path) -> None:
        """Restores the state from a checkpoint; without the file, the window stays empty."""
        path = Path(folder, FILE)
        if path.exists():
            self._iterations = deque(json.loads(path.read_text(encoding="utf-8")))

    def _oldest(self) -> float:
        return self._iterations[0][0] if self._iterations else math.inf

    def _means(self) -> list[float]:
        """Means weighted by episodes; the oldest iteration fills up the 100; NaN without any."""
        left, sums = float(WINDOW), [0.0, 0.0, 0.0]
        for episodes, *means in reversed(self._iterations):
            taken = min(episodes, left)
            sums = [total + taken * mean for total, mean in zip(sums, means, strict=True)]
            left -= taken
        counted = WINDOW - left
        return [total / counted if counted else math.nan for total in sums]
