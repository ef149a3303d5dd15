"""Means over the last 100 episodes, across iterations and a checkpoint."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from rllib_ride.experiments.last_episodes import LastEpisodes
from rllib_ride.experiments.progress import Progress


def iteration(returns: Sequence[float]) -> dict[str, dict[str, float]]:
    """RLlib's result of one iteration whose episodes have these returns, and ten times as long."""
    kept = np.array(returns[-100:], float)
    if not len(kept):
        return {"env_runners": {"num_episodes": 0, "episode_return_mean": math.nan}}
    return {
        "env_runners": {
            "num_episodes": len(returns),
            "episode_return_mean": kept.mean(),
            "episode_return_squared_mean": np.square(kept).mean(),
            "episode_len_mean": 10 * kept.mean(),
        }
    }


def follow(window: LastEpisodes, returns: Sequence[float]) -> Progress:
    result = iteration(returns)
    window.update(result)
    return Progress.of(result)


def test_a_few_episodes_an_iteration_add_up_to_a_hundred() -> None:
    rng = np.random.default_rng(0)
    window, all_returns = LastEpisodes(), []
    for _ in range(80):
        # Returns are equal within an iteration, so that the mean of a part of it is known.
        returns = [float(rng.normal())] * int(rng.integers(0, 9))
        all_returns += returns
        now = follow(window, returns)
        if all_returns:
            last = np.array(all_returns[-100:])
            assert now.return_mean == pytest.approx(last.mean())
            assert now.return_std == pytest.approx(last.std(), abs=1e-9)
            assert now.length_mean == pytest.approx(10 * last.mean())
    assert len(all_returns) > 200


def test_an_iteration_without_an_end_keeps_the_mean() -> None:
    window = LastEpisodes()
    assert math.isnan(follow(window, []).return_mean)
    follow(window, [1.0, 0.0])
    assert follow(window, []).return_mean == pytest.approx(0.5)


def test_more_than_a_hundred_in_one_iteration_are_all_there_is() -> None:
    window = LastEpisodes()
    follow(window, [5.0] * 60)
    assert follow(window, [0.0] * 150 + [1.0] * 50).return_mean == pytest.approx(0.5)


def test_a_checkpoint_keeps_them(tmp_path: Path) -> None:
    window, restored = LastEpisodes(), LastEpisodes()
    follow(window, [1.0] * 30)
    window.save(tmp_path)
    restored.load(tmp_path)
    assert follow(restored, [0.0] * 10).return_mean == pytest.approx(0.75)
    empty = LastEpisodes()
    empty.load(tmp_path / "elsewhere")
    assert math.isnan(follow(empty, []).return_mean)
