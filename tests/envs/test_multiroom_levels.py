"""MultiRoom's compiled levels equal the package's, and so does the generator afterwards."""

import pickle

import gymnasium as gym
import numpy as np
import pytest
from minigrid.envs.multiroom import MultiRoomEnv

import rllib_ride  # noqa: F401  (registers the environments)
from rllib_ride.envs import multiroom_levels
from rllib_ride.envs.minigrid_vector import MiniGridVectorEnv
from rllib_ride.envs.multiroom_levels import gen_grid, has_package_levels

MULTIROOM_IDS = sorted(env_id for env_id in gym.registry if "-MultiRoom-" in env_id)
N7S4, N12S10 = "MiniGrid-MultiRoom-N7-S4-v0", "MiniGrid-MultiRoom-N12-S10-v0"
# The package takes 10 ms and 150 ms for a level of these, and at most 1 ms for the others.
FEW_SEEDS = {"MiniGrid-MultiRoom-N10-S10-v0": 30, N12S10: 6}


def seeds_for(env_id, start=0, times=1):
    return range(start, start + times * FEW_SEEDS.get(env_id, 200))


def level_of(env):
    """Everything in a level, and the state of the generator after it."""
    return {
        "grid": env.grid.encode().tolist(),
        "objects": [obj and (vars(obj), obj.see_behind()) for obj in env.grid.grid],
        "agent": (env.agent_pos, env.agent_dir),
        "types": {type(value) for value in (*env.agent_pos, env.agent_dir, *env.goal_pos)},
        "goal": env.goal_pos,
        "mission": env.mission,
        "rooms": [vars(room) for room in env.rooms],
        "generator": env.np_random.bit_generator.state,
    }


def assert_equal_levels(ours, package, seeds, resets):
    """Compares levels over `resets` episodes from each seed; returns the generators' states."""
    package.gen_obs = lambda: None  # Draws nothing, and takes longer than most levels.
    states = []
    for seed in seeds:
        for episode in range(resets):
            for env in (ours, package):
                env.reset(seed=None if episode else seed)
            assert level_of(ours) == level_of(package), f"episode {episode} of seed {seed}"
            states.append(ours.np_random.bit_generator.state)
    return states


@pytest.mark.parametrize("env_id", MULTIROOM_IDS)
@pytest.mark.filterwarnings("ignore:.*out of date")
def test_levels_and_generator_equal_the_package(env_id, make_vec):
    (ours,), package = make_vec(env_id, 1).envs, gym.make(env_id).unwrapped
    states = assert_equal_levels(ours, package, seeds_for(env_id), resets=3)
    # PCG64 yields 64 bits and a draw uses 32. Tests levels with and without a buffered half.
    assert {state["has_uint32"] for state in states} == {0, 1}


@pytest.mark.slow
@pytest.mark.parametrize("env_id", MULTIROOM_IDS)
@pytest.mark.filterwarnings("ignore:.*out of date")
def test_many_levels_and_generators_equal_the_package(env_id, make_vec):
    (ours,), package = make_vec(env_id, 1).envs, gym.make(env_id).unwrapped
    assert_equal_levels(ours, package, seeds_for(env_id, 10_000, times=3), resets=10)


@pytest.mark.parametrize(
    "options",
    [
        {"minNumRooms": 1, "maxNumRooms": 5, "maxRoomSize": 6, "width": 17, "height": 13},
        {"minNumRooms": 2, "maxNumRooms": 3, "maxRoomSize": 9, "width": 12, "height": 22},
    ],
)
def test_other_sizes_equal_the_package(options, make_vec):
    (ours,), package = make_vec(N7S4, 1, **options).envs, MultiRoomEnv(**options)
    assert_equal_levels(ours, package, range(100), resets=2)


def test_a_level_after_other_draws_equals_the_package(make_vec):
    """As in a task that draws between resets, with the generator in any state after it."""
    (ours,), package = make_vec(N7S4, 1).envs, MultiRoomEnv(7, 7, 4)
    for draws in range(6):
        for env in (ours, package):
            env.reset(seed=3)
            env.np_random.integers(100, size=draws, dtype=np.int32)
            env.reset()
        assert level_of(ours) == level_of(package)


def test_an_environment_that_was_pickled_goes_on_with_the_same_levels(make_vec):
    (ours,) = make_vec(N7S4, 1).envs
    ours.reset(seed=5)
    again = pickle.loads(pickle.dumps(ours))
    ours.reset()
    again.reset()
    assert level_of(ours) == level_of(again)


class OwnStep(MultiRoomEnv):
    def step(self, action):
        return super().step(action)


class OwnGrid(MultiRoomEnv):
    def _gen_grid(self, width, height):
        super()._gen_grid(width, height)
        self.mission = "look around"


class OwnDraws(MultiRoomEnv):
    def _rand_int(self, low, high):
        return high - 1 - super()._rand_int(0, high - low)


def test_a_class_that_changes_levels_keeps_its_own():
    assert has_package_levels(MultiRoomEnv) and has_package_levels(OwnStep)
    assert not has_package_levels(OwnGrid) and not has_package_levels(OwnDraws)
    assert not has_package_levels(gym.make("MiniGrid-Empty-5x5-v0").unwrapped.__class__)


@pytest.mark.parametrize("cls", [OwnStep, OwnGrid])
def test_levels_of_a_subclass_equal_its_own(cls):
    gym.register("rllib_ride_test/Rooms-v0", entry_point=cls)
    try:
        env = MiniGridVectorEnv("rllib_ride_test/Rooms-v0", 1, minNumRooms=3, maxNumRooms=4)
    finally:
        del gym.registry["rllib_ride_test/Rooms-v0"]
    (ours,), package = env.envs, cls(3, 4)
    assert ("_gen_grid" in vars(ours)) is has_package_levels(cls)
    assert_equal_levels(ours, package, range(20), resets=2)


def test_the_vector_environment_uses_the_compiled_levels(make_vec):
    for env in make_vec(N12S10, 3).envs:
        assert env._gen_grid.func is gen_grid


def test_compiled_code_comes_back_from_rooms_that_do_not_fit():
    """So that Ctrl-C can end the search, as it ends the package's endless one."""
    rooms = np.empty((60, 6), np.int64)
    assert not multiroom_levels._place_rooms(np.random.default_rng(0), rooms, 10, 25, 25)
