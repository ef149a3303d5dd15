"""Statistics of episodes, compared with hand-made ones and a slow oracle."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest

from helpers.small_level import small_level, two_episodes
from rllib_ride.analysis.aggregate import (
    bonus_stats,
    mean_bonus_by_cell,
    rooms_entered,
    visits_per_episode,
)
from rllib_ride.analysis.episode_record import DIRECTIONS, INTERACTIONS, Episode, Kind

SHAPE = (4, 8)


def test_visits_by_hand():
    expected = np.zeros(SHAPE)
    expected[1, 2] = (4 + 1) / 2  # the start, two turns and the door; the other's start
    expected[1, 3] = expected[1, 4] = 1 / 2
    expected[1, 1] = 3 / 2
    np.testing.assert_allclose(visits_per_episode(two_episodes(), SHAPE), expected)


def test_mean_bonus_by_hand():
    def cells(*kinds):
        heat = mean_bonus_by_cell(two_episodes(), kinds, SHAPE)
        return {(x, y): heat[y, x] for y, x in zip(*np.nonzero(~np.isnan(heat)), strict=True)}

    assert cells(Kind.OPEN_DOOR) == {(3, 1): 0.08}
    assert cells(Kind.MOVE_FORWARD) == {(3, 1): 0.04, (4, 1): 0.02, (1, 1): 0.06}
    assert cells(Kind.TURN) == {(2, 1): pytest.approx(0.02), (1, 1): 0.05}
    assert cells(Kind.MOVE_FORWARD, Kind.OPEN_DOOR)[3, 1] == pytest.approx(0.06)
    assert cells(Kind.PICK_KEY) == {}


def test_rooms_and_statistics_by_hand():
    assert rooms_entered(two_episodes(), small_level().rooms).tolist() == [2, 1]
    turns = bonus_stats(two_episodes(), {Kind.TURN})
    assert (turns.count, turns.mean) == (3, pytest.approx(0.03))
    assert turns.std == pytest.approx(np.sqrt((0.02**2 + 0 + 0.02**2) / 3))
    none = bonus_stats(two_episodes(), {Kind.DROP_BOX})
    assert none.count == 0 and np.isnan(none.mean) and np.isnan(none.std)


@pytest.fixture
def random_episodes():
    """17 episodes of different lengths with random positions in a grid of 5x9 cells."""
    rng = np.random.default_rng(3)
    episodes = []
    for _ in range(17):
        steps = int(rng.integers(1, 40))
        episodes.append(
            Episode(
                positions=rng.integers((1, 1), (8, 4), (steps + 1, 2)),
                directions=rng.integers(0, 4, steps + 1),
                kinds=tuple(rng.choice(list(Kind), steps)),
                rewards=np.zeros(steps),
                bonuses=rng.random(steps),
            )
        )
    return episodes


def test_aggregates_are_those_of_a_slow_oracle(random_episodes):
    rooms = np.random.default_rng(4).integers(0, 6, (5, 9))
    chosen = {Kind.OPEN_DOOR, Kind.DROP_KEY, Kind.TURN}
    visits, bonuses, entered = np.zeros((5, 9)), defaultdict(list), []
    for episode in random_episodes:
        numbers = set()
        for x, y in episode.positions:
            visits[y, x] += 1 / len(random_episodes)
            numbers |= {rooms[y, x]}
        entered.append(len(numbers - {0}))
        for t, kind in enumerate(episode.kinds):
            x, y = episode.positions[t + 1]
            if kind in INTERACTIONS or kind == Kind.CLOSE_DOOR:
                dx, dy = DIRECTIONS[episode.directions[t + 1]]
                x, y = x + dx, y + dy
            if kind in chosen:
                bonuses[y, x].append(episode.bonuses[t])
    heat = np.full((5, 9), np.nan)
    for (y, x), values in bonuses.items():
        heat[y, x] = sum(values) / len(values)
    everything = np.concatenate(list(bonuses.values()))

    np.testing.assert_allclose(visits_per_episode(random_episodes, (5, 9)), visits)
    np.testing.assert_allclose(mean_bonus_by_cell(random_episodes, chosen, (5, 9)), heat)
    assert rooms_entered(random_episodes, rooms).tolist() == entered
    stats = bonus_stats(random_episodes, chosen)
    assert stats.count == len(everything)
    assert stats.mean == pytest.approx(everything.mean())
    assert stats.std == pytest.approx(everything.std())
