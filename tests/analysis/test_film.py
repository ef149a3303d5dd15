"""A film shows each state of an episode once, and the bonus of the steps so far."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from helpers.small_level import SmallLevel, recording, two_episodes
from rllib_ride.analysis.film import Film, step_ms, write_film


@pytest.fixture(scope="module")
def filmed():
    """The first of the hand-made episodes; its third step opens the door."""
    env = SmallLevel()
    env.reset()
    grids = [env.grid.encode()] * 3
    env.grid.get(3, 1).is_locked, env.grid.get(3, 1).is_open = False, True
    grids += [env.grid.encode()] * 3
    first, _ = two_episodes()
    return recording(replace(first, grids=np.stack(grids)))


def test_one_picture_a_state_and_the_bonus_is_pale_until_it_comes(filmed):
    film = Film(filmed)
    charts = [film.frame(t)[28:, 352:].astype(int) for t in range(len(film))]  # below the heading

    assert len(film) == 6
    ahead = [np.flatnonzero((charts[-1] != chart).any(axis=(0, 2))) for chart in charts]
    starts = [int(columns.min(initial=10_000)) for columns in ahead]
    assert starts == sorted(set(starts))  # fewer and fewer steps are pale, at the end none
    for chart in charts:
        assert (chart >= charts[-1]).all()  # paler than it will be, nowhere darker


def test_the_agent_and_the_door_are_where_they_were(filmed):
    film = Film(filmed)
    level = [film.frame(t)[28:, :340] for t in range(6)]

    assert not np.array_equal(level[0], level[1])  # it turned
    assert not np.array_equal(level[2], level[3])  # the door opened
    assert not np.array_equal(level[3], level[4])  # it moved


def test_the_gif_holds_the_frames(filmed, tmp_path):
    film = Film(filmed)
    path = write_film(filmed, tmp_path / "episode.gif")

    with Image.open(path) as gif:
        assert gif.n_frames == 6 and gif.info["loop"] == 0
        for t in range(6):
            gif.seek(t)
            shown = np.asarray(gif.convert("RGB")).astype(int)
            error = np.abs(shown - film.frame(t))
            assert error.mean() < 2 and error.max() < 32
            assert gif.info["duration"] == (2000 if t == 5 else 150)


def test_a_long_film_is_shown_faster():
    assert [step_ms(steps) for steps in (1, 200, 240, 576, 5000)] == [150, 150, 120, 50, 30]


def test_without_grids_there_is_no_film():
    with pytest.raises(ValueError, match="grids"):
        Film(recording())
