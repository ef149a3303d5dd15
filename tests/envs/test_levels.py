"""What the registered ids make: rooms, step limits, and levels that can be solved."""

import re
from collections import deque

import gymnasium as gym
import numpy as np
import pytest
from minigrid.core.constants import OBJECT_TO_IDX

from rllib_ride.envs.catalog import PAPER_TASKS
from rllib_ride.envs.registration import MULTIROOM, multiroom_id

WALL, GOAL, AGENT = (OBJECT_TO_IDX[name] for name in ("wall", "goal", "agent"))
# Misnamed by the package for as long as the id has been there; it points to v1.
MISNAMED = {"MiniGrid-MultiRoom-N4-S5-v0": 6}
MULTIROOM_IDS = sorted(env_id for env_id in gym.registry if "-MultiRoom-" in env_id)


def goal_is_reachable(full):
    """Searches one full grid [W, H, 3] breadth first; doors of MultiRoom open to everyone."""
    kinds = full[..., 0].tolist()
    (start,) = np.argwhere(full[..., 0] == AGENT).tolist()
    seen, queue = {tuple(start)}, deque([tuple(start)])
    while queue:
        x, y = queue.popleft()
        if kinds[x][y] == GOAL:
            return True
        for place in ((x + 1, y), (x - 1, y), (x, y + 1), (x, y - 1)):
            if place not in seen and kinds[place[0]][place[1]] != WALL:
                seen.add(place)
                queue.append(place)
    return False


def test_the_search_can_fail():
    full = np.full((5, 4, 3), WALL)
    full[1, 1], full[3, 1], full[3, 2] = AGENT, GOAL, 1
    assert not goal_is_reachable(full)
    full[2, 1] = OBJECT_TO_IDX["door"]
    assert goal_is_reachable(full)


@pytest.mark.parametrize("env_id", MULTIROOM_IDS)
@pytest.mark.filterwarnings("ignore:.*out of date")
def test_goal_can_be_reached_in_a_thousand_levels(env_id, make_vec):
    env = make_vec(env_id, 50)
    env.reset(seed=1000)
    levels = []
    while len(levels) < 1000:
        levels.extend(env.full_grids())
        env.reset()
    assert len({level.tobytes() for level in levels}) > 990
    assert all(goal_is_reachable(level) for level in levels)


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
