"""The plan of the package's level."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
import pytest

import rllib_ride  # noqa: F401 (registers)
from helpers.small_level import small_level
from rllib_ride.analysis.level import Thing, level_of


def test_rooms_are_what_walls_and_doors_bound_counted_from_the_start():
    level = small_level()

    assert level.rooms.tolist() == [
        [0, 0, 0, 0, 0, 0, 0, 0],
        [0, 1, 1, 0, 2, 2, 2, 0],
        [0, 1, 1, 0, 2, 2, 2, 0],
        [0, 0, 0, 0, 0, 0, 0, 0],
    ]
    assert level.num_rooms == 2
    assert level.walls.sum() == 8 * 4 - 4 - 6 - 1


def test_things_have_the_papers_letters_and_a_box_that_of_what_is_in_it():
    level = small_level()

    assert level.start == (2, 1)
    assert set(level.things) == {
        Thing((3, 1), "D", "yellow"),
        Thing((1, 2), "K", "grey"),
        Thing((6, 1), "B", "blue"),
        Thing((6, 2), "G", "green"),
    }


@pytest.mark.parametrize("task", ["N7-S4", "N7-S8", "N12-S10"])
@pytest.mark.parametrize("seed", range(5))
def test_rooms_of_multiroom_are_the_packages_in_its_order(task, seed):
    env = gym.make(f"MiniGrid-MultiRoom-{task}-v0").unwrapped
    env.reset(seed=seed)

    level = level_of(env)

    expected = np.zeros((25, 25), int)
    for number, room in enumerate(env.rooms, start=1):
        (left, top), (width, height) = room.top, room.size
        expected[top + 1 : top + height - 1, left + 1 : left + width - 1] = number
    np.testing.assert_array_equal(level.rooms, expected)


def test_the_window_holds_all_walls_and_leaves_out_what_is_outside():
    env = gym.make("MiniGrid-MultiRoom-N7-S4-v0").unwrapped
    env.reset(seed=0)
    level = level_of(env)

    left, right, top, bottom = level.window()

    assert level.walls[top:bottom, left:right].sum() == level.walls.sum()
    for edge in (
        level.walls[top],
        level.walls[bottom - 1],
        level.walls[:, left],
        level.walls[:, right - 1],
    ):
        assert edge.any()


def test_rooms_without_a_door_to_them_are_none():
    env = gym.make("MiniGrid-ObstructedMaze-2Dlh-v0").unwrapped
    env.reset(seed=0)

    level = level_of(env)

    assert sum(thing.letter == "D" for thing in level.things) + 1 == level.num_rooms < 9
