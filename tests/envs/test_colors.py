"""Changing colours: a level's colours, and that training never shows held-out colours."""

import collections

import gymnasium as gym
import numpy as np
import pytest
from minigrid.core.constants import COLOR_NAMES, COLOR_TO_IDX

from helpers.minigrid_play import assert_equal_play, random_actions
from rllib_ride.envs.minigrid_colors import HELD_OUT_COLORS, TRAINING_COLORS
from rllib_ride.envs.registration import COLORS_ID, HELD_OUT_COLORS_ID, multiroom_id

COLORS_OF_ID = {COLORS_ID: TRAINING_COLORS, HELD_OUT_COLORS_ID: HELD_OUT_COLORS}


@pytest.fixture(params=COLORS_OF_ID, ids=["training", "held_out"])
def colors_id(request):
    return request.param


def levels(env_id, number):
    """Colours by type of object in the levels of `number` episodes."""
    env = gym.make(env_id).unwrapped
    env.reset(seed=0)
    for _ in range(number):
        colors = collections.defaultdict(set)
        for obj in env.grid.grid:
            if obj is not None:
                colors[obj.type].add(obj.color)
        yield colors
        env.reset()


def test_four_colors_are_for_training_and_the_other_two_held_out():
    assert (len(TRAINING_COLORS), len(HELD_OUT_COLORS)) == (4, 2)
    assert {*TRAINING_COLORS, *HELD_OUT_COLORS} == set(COLOR_NAMES)


def test_walls_and_goal_of_a_level_have_each_one_color_of_all_there_are(colors_id):
    colors = COLORS_OF_ID[colors_id]
    number = 80 * len(colors) ** 2
    pairs = collections.Counter()
    for level in levels(colors_id, number):
        (wall,), (goal,) = level["wall"], level["goal"]
        pairs[wall, goal] += 1
    assert pairs.keys() == {(wall, goal) for wall in colors for goal in colors}
    # Uniform and independent: five standard deviations of a binomial count.
    margin = 5 * (80 * (1 - 1 / len(colors) ** 2)) ** 0.5
    assert all(abs(count - 80) < margin for count in pairs.values())


def test_no_color_of_the_other_set_is_anywhere_in_thousands_of_levels(colors_id):
    colors = COLORS_OF_ID[colors_id]
    seen = set()
    for level in levels(colors_id, 3000):
        assert level.keys() == {"wall", "goal", "door"}
        seen |= set.union(*level.values())
    assert seen == set(colors)


def test_no_held_out_color_is_ever_observed_in_training(make_vec):
    """Tests the policy's observations, over resets and steps; 0 is red as well as no colour."""
    env = make_vec(COLORS_ID, 32, max_episode_steps=10)
    allowed = {COLOR_TO_IDX[color] for color in TRAINING_COLORS}
    rng = np.random.default_rng(0)
    obs, _ = env.reset(seed=0)
    seen, resets = set(), env.num_envs
    for _ in range(700):
        seen |= set(np.unique(obs[..., 1]).tolist())
        obs, _, terminated, truncated, _ = env.step(random_actions(rng, env))
        resets += int((terminated | truncated).sum())
    assert seen == allowed
    assert resets >= 2000


def test_doors_differ_from_the_door_before(colors_id):
    env = gym.make(colors_id).unwrapped
    env.reset(seed=0)
    for _ in range(50):
        doors = [env.grid.get(*room.entryDoorPos) for room in env.rooms[1:]]
        assert [door.type for door in doors] == ["door"] * 6
        pairs = zip(doors, doors[1:], strict=False)
        assert all(door.color != later.color for door, later in pairs)
        env.reset()


def test_the_level_is_multiroom_s_painted_over(colors_id):
    env, plain = (gym.make(env_id).unwrapped for env_id in (colors_id, multiroom_id(7, 4)))
    for seed in range(20):
        for one in (env, plain):
            one.reset(seed=seed)
        kinds, plain_kinds = (one.grid.encode()[..., [0, 2]] for one in (env, plain))
        np.testing.assert_array_equal(kinds, plain_kinds)
        assert (env.agent_pos, env.agent_dir) == (plain.agent_pos, plain.agent_dir)


def test_any_colors_can_be_asked_for():
    env = gym.make(COLORS_ID, colors=["yellow"]).unwrapped
    env.reset(seed=0)
    assert {obj.color for obj in env.grid.grid if obj is not None} == {"yellow"}


@pytest.mark.parametrize("colors", [[], ["pink"], ["red", "red"], "red"])
def test_wrong_colors_are_refused(colors):
    with pytest.raises(ValueError, match="colors=.*expected some of.*'purple'.*each once"):
        gym.make(COLORS_ID, colors=colors)


@pytest.mark.parametrize("see_through_walls", [False, True])
def test_the_fast_views_equal_the_package_s(colors_id, see_through_walls, make_vec):
    options = {"see_through_walls": see_through_walls, "max_episode_steps": 25}
    ours = make_vec(colors_id, 8, **options)
    package = make_vec(colors_id, 8, mode="sync", **options)
    assert assert_equal_play(ours, package, steps=120, seed=3) >= 32
