"""DynamicObstacles as in the paper: random start; a collision costs 1 and ends the episode."""

import gymnasium as gym
import numpy as np
import pytest
from minigrid.core.world_object import Ball

from helpers.minigrid_play import assert_equal_play
from rllib_ride.envs.registration import DYNAMIC_OBSTACLES, dynamic_obstacles_id

FORWARD = 2


@pytest.fixture(params=DYNAMIC_OBSTACLES, ids=lambda task: str(task[0]))
def task(request):
    return request.param


def test_there_are_four_difficulties_with_the_package_s_obstacles(task):
    size, obstacles = task
    assert len(DYNAMIC_OBSTACLES) == 4
    env = gym.make(dynamic_obstacles_id(size)).unwrapped
    # The package's task of this size whose agent starts in the corner.
    corner = gym.make(f"MiniGrid-Dynamic-Obstacles-{size}x{size}-v0").unwrapped
    for one in (env, corner):
        one.reset(seed=0)
        assert len(one.obstacles) == obstacles
        assert (one.width, one.height) == (size, size)
    assert env.max_steps == corner.max_steps
    assert env.action_space == corner.action_space == gym.spaces.Discrete(3)


def test_the_agent_starts_anywhere_but_on_the_goal(task):
    size, _ = task
    env = gym.make(dynamic_obstacles_id(size)).unwrapped
    env.reset(seed=0)
    places, directions = set(), set()
    cells = (size - 2) ** 2 - 1
    for _ in range(12 * cells):  # A given cell is missed with a chance of 1 in 160,000.
        places.add(tuple(map(int, env.agent_pos)))
        directions.add(int(env.agent_dir))
        env.reset()
    inside = range(1, size - 1)
    assert places == {(x, y) for x in inside for y in inside} - {(size - 2, size - 2)}
    assert directions == {0, 1, 2, 3}


def test_a_collision_costs_one_and_ends_the_episode(task, make_vec):
    size, _ = task
    env = make_vec(dynamic_obstacles_id(size), 8)
    env.reset(seed=0)
    rng = np.random.default_rng(0)
    collisions = goals = 0
    for _ in range(400):
        fronts = [one.grid.get(*one.front_pos) for one in env.envs]
        running = ~env._ended
        actions = rng.integers(3, size=8)
        _, rewards, terminated, truncated, _ = env.step(actions)
        for i in np.flatnonzero(running):
            forward = actions[i] == FORWARD
            if forward and isinstance(fronts[i], Ball):
                assert (rewards[i], terminated[i]) == (-1.0, True)
                collisions += 1
            elif forward and fronts[i] is not None and fronts[i].type == "goal":
                assert 0 < rewards[i] <= 1 and terminated[i]
                goals += 1
            elif forward and fronts[i] is not None:  # A wall: for the package, a collision.
                assert (rewards[i], terminated[i]) == (-1.0, True)
            else:
                assert (rewards[i], terminated[i]) == (0.0, False)
    assert collisions >= 10
    assert goals >= 1 or size > 8


def test_the_fast_views_follow_the_obstacles(task, make_vec):
    env_id = dynamic_obstacles_id(task[0])
    ours, package = make_vec(env_id, 6), make_vec(env_id, 6, mode="sync")
    assert assert_equal_play(ours, package, steps=150, seed=4) >= 20
