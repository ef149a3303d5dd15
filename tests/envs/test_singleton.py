"""Singleton: the same level in every episode, for any id, in every environment of a vector."""

import gymnasium as gym
import numpy as np
import pytest
from minigrid.wrappers import FullyObsWrapper

from helpers.minigrid_play import assert_equal_play, random_actions
from rllib_ride.envs.minigrid_vector import MiniGridVectorEnv
from rllib_ride.envs.registration import (
    COLORS_ID,
    NOISY_TV_ID,
    dynamic_obstacles_id,
    multiroom_id,
)

N10S6 = multiroom_id(10, 6)
# Includes classes with their own `reset` (BabyAI) and classes with randomness in `step`.
IDS = [
    N10S6,
    "MiniGrid-ObstructedMaze-2Dlh-v0",
    "MiniGrid-KeyCorridorS3R3-v0",
    NOISY_TV_ID,
    COLORS_ID,
    dynamic_obstacles_id(8),
    "BabyAI-PutNextS5N2Carrying-v0",
    "BabyAI-GoToSeq-v0",
]


def full_grid(env):
    return FullyObsWrapper(env).observation({})["image"]


def first_states(env, episodes):
    """Full grids at the start of at least `episodes` episodes in all, and the set of missions."""
    rng = np.random.default_rng(0)
    starts = [env.full_grids()]
    missions = [tuple(one.mission for one in env.envs)]
    for _ in range(episodes - 1):
        ended = np.zeros(env.num_envs, bool)
        while not ended.any():
            _, _, terminated, truncated, _ = env.step(random_actions(rng, env))
            ended = terminated | truncated
        env.step(random_actions(rng, env))
        missions += [(env.envs[i].mission,) for i in np.flatnonzero(ended)]
        starts.append(env.full_grids()[ended])
    return np.concatenate(starts), {mission for each in missions for mission in each}


def rllib_seeds(num_envs):
    """A seed for each environment, as this project's env runners draw them from a run's seed."""
    return [int(seed) for seed in np.random.SeedSequence([7, 0, 0]).generate_state(num_envs)]


@pytest.mark.parametrize("seeds", [None, 5, rllib_seeds(4)], ids=["none", "int", "rllib"])
@pytest.mark.parametrize("env_id", IDS)
def test_every_episode_of_every_environment_starts_in_one_state(env_id, seeds, make_vec):
    env = make_vec(env_id, 4, singleton_seed=3, max_steps=12)
    env.reset(seed=seeds)
    starts, missions = first_states(env, 8)
    assert len(starts) >= 4 + 7
    assert len({start.tobytes() for start in starts}) == 1
    assert len(missions) == 1
    env.reset()
    np.testing.assert_array_equal(env.full_grids(), starts[:4])


@pytest.mark.parametrize("env_id", IDS)
def test_without_the_option_levels_differ(env_id, make_vec):
    env = make_vec(env_id, 4, max_steps=12)
    env.reset(seed=rllib_seeds(4))
    starts, _ = first_states(env, 8)
    assert len({start.tobytes() for start in starts}) > len(starts) // 2


@pytest.mark.parametrize("env_id", IDS)
def test_through_gym_make_as_well(env_id):
    env = gym.make(env_id, singleton_seed=3)
    grids, missions = [], set()
    for seed in (None, None, 3, 4, 2**31, None):
        env.reset(seed=seed)
        grids.append(full_grid(env.unwrapped))
        missions.add(env.unwrapped.mission)
        env.step(0)
    assert len({grid.tobytes() for grid in grids}) == 1
    assert len(missions) == 1


@pytest.mark.parametrize("env_id", IDS)
def test_the_level_is_that_of_its_seed(env_id):
    env, singleton = gym.make(env_id), gym.make(env_id, singleton_seed=3)
    env.reset(seed=3)
    singleton.reset(seed=11)
    np.testing.assert_array_equal(full_grid(env.unwrapped), full_grid(singleton.unwrapped))
    env.reset(seed=4)
    assert (full_grid(env.unwrapped) != full_grid(singleton.unwrapped)).any()


@pytest.mark.parametrize("env_id", [N10S6, NOISY_TV_ID, dynamic_obstacles_id(8)])
def test_vector_and_package_agree(env_id, make_vec):
    options = {"num_envs": 3, "singleton_seed": 9, "max_episode_steps": 20}
    ours, package = make_vec(env_id, **options), make_vec(env_id, mode="sync", **options)
    assert assert_equal_play(ours, package, steps=90, seed=2) >= 12


def obstacle_course(env, steps=6):
    env.reset()
    places = []
    for _ in range(steps):
        env.step(0)
        places.append([tuple(map(int, ball.cur_pos)) for ball in env.unwrapped.obstacles])
    return places


def test_chance_within_an_episode_stays_the_environment_s_own():
    """Obstacles start from the same cells, and then move as the seed given to `reset` says."""
    env = gym.make(dynamic_obstacles_id(8), singleton_seed=3)
    env.reset(seed=0)
    courses = [obstacle_course(env) for _ in range(3)]
    assert courses[0] != courses[1] != courses[2]
    env.reset(seed=0)
    assert [obstacle_course(env) for _ in range(3)] == courses
    assert env.unwrapped.np_random_seed == 0
    env.reset(seed=1)
    assert [obstacle_course(env) for _ in range(3)] != courses


def test_it_is_remade_from_its_spec():
    env = gym.make(N10S6, singleton_seed=3)
    again = gym.make(gym.envs.registration.EnvSpec.from_json(env.spec.to_json()))
    for one in (env, again):
        one.reset(seed=1)
    np.testing.assert_array_equal(full_grid(env.unwrapped), full_grid(again.unwrapped))


def test_none_is_no_singleton(make_vec):
    env = make_vec(N10S6, 3, singleton_seed=None)
    env.reset(seed=0)
    assert len({grid.tobytes() for grid in env.full_grids()}) == 3


@pytest.mark.parametrize("level_seed", [-1, 1.5, "3", True])
def test_a_wrong_seed_is_refused(level_seed):
    told = f"singleton_seed={level_seed!r}: expected a whole number of at least 0"
    with pytest.raises(ValueError, match=told):
        gym.make(N10S6, singleton_seed=level_seed)
    with pytest.raises(ValueError, match=told):
        MiniGridVectorEnv(N10S6, 2, singleton_seed=level_seed)
