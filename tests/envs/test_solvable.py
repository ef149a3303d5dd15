"""Every level of the paper's tasks can be solved, by search."""

import gymnasium as gym
import pytest
from minigrid.core.grid import Grid
from minigrid.core.world_object import Ball, Box, Door, Goal, Key, Wall

from helpers.minigrid_solver import is_solvable
from rllib_ride.envs.catalog import PAPER_TASKS

# Without singletons, which have one level. test_levels.py tests MultiRoom of the package's class.
TASKS = [task for task in PAPER_TASKS if not task.options]
QUICK = [task for task in TASKS if "-MultiRoom-" not in task.id]


def assert_all_solvable(env_id, levels):
    env = gym.make(env_id).unwrapped
    different = set()
    env.reset(seed=2000)
    for _ in range(levels):
        assert is_solvable(env), f"{env_id}: no way\n{env.pprint_grid()}"
        different.add(env.hash())
        env.reset()
    env.close()
    return len(different)


@pytest.mark.parametrize("task", QUICK, ids=lambda task: task.id)
def test_a_hundred_levels(task):
    # A 5x5 grid has few: 8 places and 4 directions of the agent, 21 places for two balls.
    assert assert_all_solvable(task.id, 100) > 85


@pytest.mark.slow
@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.id)
def test_a_thousand_levels(task):
    assert assert_all_solvable(task.id, 1000) > 400


@pytest.fixture
def corridor():
    """A corridor of seven cells, the agent at its left end."""
    env = gym.make("MiniGrid-Empty-5x5-v0").unwrapped
    env.reset(seed=0)
    env.grid = Grid(9, 3)
    env.grid.wall_rect(0, 0, 9, 3)
    env.agent_pos = (1, 1)
    return env


def test_search_goes_through_doors_and_past_objects(corridor):
    corridor.grid.set(7, 1, Goal())
    for x, obj in ((3, Door("red")), (4, Ball()), (5, Box("red")), (6, Key("red"))):
        corridor.grid.set(x, 1, obj)
    assert is_solvable(corridor)
    corridor.grid.set(2, 1, Wall())
    assert not is_solvable(corridor)


@pytest.mark.parametrize(
    ("key", "solvable"),
    [
        (None, False),
        (Key("blue"), False),
        (Key("red"), True),
        (Box("blue", Key("red")), True),
        (Box("red", Key("blue")), False),
    ],
)
def test_search_needs_the_key_of_a_door(corridor, key, solvable):
    corridor.grid.set(2, 1, key)
    corridor.grid.set(4, 1, Door("red", is_locked=True))
    corridor.grid.set(7, 1, Goal())
    assert is_solvable(corridor) == solvable


def test_search_finds_a_key_behind_a_door_that_an_earlier_key_opens(corridor):
    objects = ((2, Key("red")), (3, Door("red", is_locked=True)), (4, Key("blue")))
    for x, obj in (*objects, (5, Door("blue", is_locked=True)), (6, Goal())):
        corridor.grid.set(x, 1, obj)
    assert is_solvable(corridor)
    corridor.grid.set(4, 1, None)
    assert not is_solvable(corridor)


def test_the_object_asked_for_is_a_goal(corridor):
    corridor.obj = Ball("blue")
    corridor.grid.set(5, 1, Ball("blue"))
    assert not is_solvable(corridor)
    corridor.grid.set(6, 1, corridor.obj)
    assert is_solvable(corridor)
