"""What the registered ids make: rooms, step limits, and solvable levels."""

import re

import gymnasium as gym
import numpy as np
import pytest

from helpers.minigrid_solver import is_solvable
from rllib_ride.envs.catalog import PAPER_TASKS
from rllib_ride.envs.registration import MULTIROOM, multiroom_id

# The package has always misnamed this id; it refers to v1.
MISNAMED = {"MiniGrid-MultiRoom-N4-S5-v0": 6}
MULTIROOM_IDS = sorted(env_id for env_id in gym.registry if "-MultiRoom-" in env_id)


@pytest.mark.parametrize("env_id", MULTIROOM_IDS)
@pytest.mark.filterwarnings("ignore:.*out of date")
def test_goal_can_be_reached_in_a_thousand_levels(env_id, make_vec):
    env = make_vec(env_id, 50)
    env.reset(seed=1000)
    levels = []
    while len(levels) < 1000:
        levels.extend(level.tobytes() for level in env.full_grids())
        assert all(is_solvable(level) for level in env.envs)
        env.reset()
    assert len(set(levels)) > 990


@pytest.mark.parametrize("env_id", MULTIROOM_IDS)
@pytest.mark.filterwarnings("ignore:.*out of date")
def test_multiroom_id_says_what_it_makes(env_id):
    name = re.fullmatch(r"MiniGrid-MultiRoom-N(\d+)(?:-S(\d+))?-v\d", env_id)
    env = gym.make(env_id).unwrapped
    rooms = MISNAMED.get(env_id, int(name[1]))
    for seed in range(3):
        env.reset(seed=seed)
        assert len(env.rooms) == rooms
        assert max(max(room.size) for room in env.rooms) <= int(name[2] or 10)
    assert env.max_steps == 20 * rooms
    assert (env.width, env.height) == (25, 25)


def test_the_paper_s_rooms_are_registered():
    assert {multiroom_id(*task) for task in MULTIROOM} <= set(MULTIROOM_IDS)
    assert set(MULTIROOM_IDS) >= MISNAMED.keys()


@pytest.mark.parametrize("task", PAPER_TASKS, ids=lambda task: f"{task.id}{task.options or ''}")
def test_catalog_s_step_limit_is_where_an_episode_is_cut(task, make_vec):
    env = make_vec(task.id, 1, **task.options)
    env.reset(seed=0)
    turn = np.zeros(1, int)
    cut = [bool(env.step(turn)[3][0]) for _ in range(task.max_steps)]
    assert cut == [False] * (task.max_steps - 1) + [True]


def test_catalog_names_each_task_once():
    tasks = {(task.id, *task.options.items()) for task in PAPER_TASKS}
    assert len(tasks) == len(PAPER_TASKS)
    assert all(task.paper for task in PAPER_TASKS)


def test_catalog_has_the_eight_tasks_of_the_paper_s_main_figure():
    limits = {task.id: task.max_steps for task in PAPER_TASKS if "fig:minigrid" in task.paper}
    assert limits == {
        "MiniGrid-MultiRoom-N7-S4-v0": 140,
        "MiniGrid-MultiRoomNoisyTV-N7-S4-v0": 140,
        "MiniGrid-MultiRoom-N7-S8-v0": 140,
        "MiniGrid-MultiRoom-N10-S4-v0": 200,
        "MiniGrid-MultiRoom-N10-S10-v0": 200,
        "MiniGrid-MultiRoom-N12-S10-v0": 240,
        "MiniGrid-KeyCorridorS3R3-v0": 270,
        "MiniGrid-ObstructedMaze-2Dlh-v0": 576,
    }
