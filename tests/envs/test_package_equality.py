"""Equals Gymnasium's SyncVectorEnv of the package's environments, byte for byte."""

import gymnasium as gym
import numpy as np
import pytest
from minigrid.core.grid import Grid
from minigrid.core.mission import MissionSpace
from minigrid.core.world_object import Wall
from minigrid.minigrid_env import MiniGridEnv

from helpers.minigrid_play import assert_equal_play, random_actions
from rllib_ride.envs.minigrid_effects import Effect, step_effect


def skip_if_it_cannot_reset(package):
    """The wheel of minigrid 3.2.0 lacks the images that its WFC levels are generated from."""
    try:
        package.reset()
    except (gym.error.DependencyNotInstalled, FileNotFoundError) as error:
        pytest.skip(f"the package cannot make this level: {error}")


@pytest.mark.filterwarnings("ignore:.*out of date")
def test_every_id_equals_the_package(package_id, make_vec):
    # Episodes are truncated after 19 steps, to also compare views after an automatic reset.
    options = {"num_envs": 2, "max_episode_steps": 19}
    ours = make_vec(package_id, **options)
    package = make_vec(package_id, mode="sync", **options)
    skip_if_it_cannot_reset(package)
    assert assert_equal_play(ours, package, steps=45, seed=5) >= 4


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*out of date")
def test_every_id_equals_the_package_over_long_play(package_id, make_vec):
    ours, package = make_vec(package_id, 3), make_vec(package_id, 3, mode="sync")
    skip_if_it_cannot_reset(package)
    assert_equal_play(ours, package, steps=500, seed=11)


@pytest.mark.parametrize("size", [3, 5, 7, 9, 11])
@pytest.mark.parametrize("see_through_walls", [False, True])
def test_view_options_equal_the_package(size, see_through_walls, make_vec):
    options = {
        "num_envs": 3,
        "agent_view_size": size,
        "see_through_walls": see_through_walls,
        "max_episode_steps": 60,
    }
    ours = make_vec("MiniGrid-MultiRoom-N6-v0", **options)
    package = make_vec("MiniGrid-MultiRoom-N6-v0", mode="sync", **options)
    assert ours.single_observation_space.shape == (size, size, 3)
    assert_equal_play(ours, package, steps=200, seed=2)


def test_doors_boxes_keys_and_balls_are_followed(make_vec):
    """A long play of a task that has them all; asserts that all were used."""
    ours = make_vec("MiniGrid-ObstructedMaze-1Dlhb-v0", 16, max_steps=500)
    package = make_vec("MiniGrid-ObstructedMaze-1Dlhb-v0", 16, mode="sync", max_steps=500)
    assert_equal_play(ours, package, steps=450, seed=3)
    contents = [{obj.type for obj in env.grid.grid if obj} for env in ours.envs]
    assert any("key" in types for types in contents), "no box was opened"
    assert any(env.carrying for env in ours.envs), "nothing was picked up"


def test_dict_observation_equals_the_package(make_vec):
    ours = make_vec("BabyAI-GoTo-v0", 3, observation="dict", max_episode_steps=7)
    package = make_vec("BabyAI-GoTo-v0", 3, mode="sync", max_episode_steps=7)
    assert ours.observation_space == package.observation_space
    obs, expected = ours.reset(seed=1)[0], package.reset(seed=1)[0]
    rng = np.random.default_rng(0)
    for _ in range(25):
        assert obs.keys() == expected.keys()
        assert obs["mission"] == expected["mission"]
        np.testing.assert_array_equal(obs["direction"], expected["direction"])
        np.testing.assert_array_equal(obs["image"], expected["image"])
        actions = random_actions(rng, ours)
        obs, expected = ours.step(actions)[0], package.step(actions)[0]
    assert len(set(obs["mission"])) > 1


class ShiftingWalls(MiniGridEnv):
    """A user's class: `step` changes the grid after taking the view, and returns an info."""

    def __init__(self, **kwargs):
        super().__init__(
            mission_space=MissionSpace(mission_func=lambda: "wander"),
            grid_size=9,
            max_steps=30,
            **kwargs,
        )

    def _gen_grid(self, width, height):
        self.grid = Grid(width, height)
        self.grid.wall_rect(0, 0, width, height)
        self.place_agent()

    def step(self, action):
        obs, reward, terminated, truncated, _ = super().step(action)
        x, y = self.np_random.integers(1, 8, size=2)
        free = self.grid.get(x, y) is None and (x, y) != tuple(self.agent_pos)
        if free:
            self.grid.set(x, y, Wall())
        return obs, reward, terminated, truncated, {"walls": 1.0} if free else {}


def test_a_class_nobody_has_looked_at_shows_its_own_views(make_vec):
    assert step_effect(ShiftingWalls) is Effect.UNKNOWN
    gym.register(
        "rllib_ride_test/ShiftingWalls-v0",
        entry_point=ShiftingWalls,
        vector_entry_point="rllib_ride.envs.entry_points:rllib_ride_test/ShiftingWalls-v0",
    )
    try:
        ours = make_vec("rllib_ride_test/ShiftingWalls-v0", 3)
        package = make_vec("rllib_ride_test/ShiftingWalls-v0", 3, mode="sync")
        assert assert_equal_play(ours, package, steps=70, seed=4) >= 3
    finally:
        del gym.registry["rllib_ride_test/ShiftingWalls-v0"]


@pytest.mark.filterwarnings("ignore:.*out of date")
def test_every_class_of_the_package_has_been_looked_at(package_id):
    """So that every registered id uses the batched view."""
    env = gym.make(package_id)
    assert step_effect(type(env.unwrapped)) is not Effect.UNKNOWN
    env.close()
