"""The noisy TV: an ordinary object whose colour one action redraws."""

import collections

import gymnasium as gym
import numpy as np
import pytest
from minigrid.core.actions import Actions
from minigrid.core.constants import COLOR_NAMES
from minigrid.core.world_object import Ball

from helpers.minigrid_play import assert_equal_play
from rllib_ride.envs.minigrid_effects import Effect, step_effect
from rllib_ride.envs.registration import NOISY_TV_ID, multiroom_id

TV_ACTIONS = ("done", "drop")


@pytest.fixture
def make():
    """Makes and resets one environment, unwrapped."""

    def make(seed=0, **options):
        env = gym.make(NOISY_TV_ID, **options).unwrapped
        env.reset(seed=seed)
        return env

    return make


def face_the_tv(env):
    """Puts the agent on a free cell beside the ball, in front of it."""
    x, y = env.tv.cur_pos
    for direction, (dx, dy) in enumerate(((1, 0), (0, 1), (-1, 0), (0, -1))):
        if env.grid.get(x - dx, y - dy) is None:
            env.agent_pos, env.agent_dir = (x - dx, y - dy), direction
            return
    raise AssertionError("no free cell beside the ball")


def balls(env):
    return [obj for obj in env.grid.grid if isinstance(obj, Ball)]


def test_one_ball_lies_in_the_first_room_beside_the_agent_s_cell(make):
    env = make()
    places = set()
    for _ in range(300):
        assert balls(env) == [env.tv]
        (left, top), (width, height) = env.rooms[0].top, env.rooms[0].size
        x, y = env.tv.cur_pos
        assert left < x < left + width - 1 and top < y < top + height - 1
        assert (x, y) != tuple(env.agent_pos)
        places.add((x - left, y - top))
        env.reset()
    assert len(places) == 4, "a room of 4x4 has four cells"


def test_the_level_is_multiroom_s_with_a_ball_in_it(make):
    plain = gym.make(multiroom_id(7, 4)).unwrapped
    for seed in range(20):
        env = make(seed)
        plain.reset(seed=seed)
        env.grid.set(*env.tv.cur_pos, None)
        assert env.grid == plain.grid
        assert (env.agent_pos, env.agent_dir) == (plain.agent_pos, plain.agent_dir)


def test_the_ball_is_bumped_into_picked_up_and_dropped(make):
    env = make()
    face_the_tv(env)
    start, place = tuple(env.agent_pos), tuple(env.front_pos)
    env.step(Actions.forward)
    assert tuple(env.agent_pos) == start
    env.step(Actions.pickup)
    assert env.carrying is env.tv and not balls(env)
    env.step(Actions.forward)
    assert tuple(env.agent_pos) == place
    env.step(Actions.left)
    while env.grid.get(*env.front_pos) is not None:
        env.step(Actions.left)
    env.step(Actions.drop)
    assert env.carrying is None and env.grid.get(*env.front_pos) is env.tv


@pytest.mark.parametrize("tv_action", TV_ACTIONS)
@pytest.mark.parametrize("tv_colors", [6, 3])
def test_its_action_draws_uniformly_among_the_colors(tv_action, tv_colors, make):
    env = make(tv_action=tv_action, tv_colors=tv_colors, max_steps=10_000)
    draws = 300 * tv_colors
    counts = collections.Counter()
    for _ in range(draws):
        env.step(Actions[tv_action])
        counts[env.tv.color] += 1
    assert counts.keys() == set(COLOR_NAMES[:tv_colors])
    # Five standard deviations of a binomial count.
    margin = 5 * (draws / tv_colors * (1 - 1 / tv_colors)) ** 0.5
    assert all(abs(count - 300) < margin for count in counts.values())


def test_its_first_color_is_drawn_too(make):
    env = make(tv_colors=3)
    first = set()
    for _ in range(60):
        first.add(env.tv.color)
        env.reset()
    assert first == set(COLOR_NAMES[:3])


@pytest.mark.parametrize("tv_action", TV_ACTIONS)
def test_no_other_action_changes_the_color(tv_action, make):
    env = make(tv_action=tv_action, max_steps=10_000)
    others = [action for action in Actions if action.name != tv_action]
    color, rng = env.tv.color, np.random.default_rng(0)
    state = env.np_random.bit_generator.state
    for action in rng.choice(others, 300):
        env.step(action)
        assert env.tv.color == color
    assert env.np_random.bit_generator.state == state


def test_a_tv_of_one_color_is_switched_off(make):
    env = make(tv_colors=1)
    for _ in range(20):
        env.step(Actions.done)
        assert env.tv.color == COLOR_NAMES[0]


def test_the_draws_are_of_the_environment_s_own_generator(make):
    def colors(seed):
        env, seen = make(3), []
        env.np_random = np.random.default_rng(seed)
        for _ in range(40):
            env.step(Actions.done)
            seen.append(env.tv.color)
        return seen

    expected = [COLOR_NAMES[i] for i in np.random.default_rng(5).integers(0, 6, 40)]
    assert colors(5) == expected
    assert colors(6) != expected


def test_by_drop_the_carried_ball_changes_color_and_stays_in_the_hand(make):
    """As in the authors' code."""
    env = make(tv_action="drop")
    face_the_tv(env)
    env.step(Actions.pickup)
    seen = set()
    for _ in range(60):
        obs, *_ = env.step(Actions.drop)
        assert env.carrying is env.tv and not balls(env)
        assert obs["image"][3, 6].tolist() == list(env.tv.encode())
        seen.add(env.tv.color)
    assert seen == set(COLOR_NAMES)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"tv_action": "toggle"}, r"tv_action='toggle': expected one of \('done', 'drop'\)"),
        ({"tv_colors": 0}, "tv_colors=0: expected 1 to 6"),
        ({"tv_colors": 7}, "tv_colors=7: expected 1 to 6"),
        ({"tv_colors": 2.0}, "tv_colors=2.0: expected 1 to 6"),
    ],
)
def test_wrong_options_are_refused(options, told):
    with pytest.raises(ValueError, match=told):
        gym.make(NOISY_TV_ID, **options)


def watch_tv(rng, env):
    """Random actions with many redraws, pickups and drops."""
    # left, right, forward, pickup, drop, toggle, done
    weights = [0.1, 0.1, 0.2, 0.2, 0.15, 0.05, 0.2]
    return rng.choice(7, size=env.num_envs, p=weights)


@pytest.mark.parametrize("tv_action", TV_ACTIONS)
@pytest.mark.parametrize("see_through_walls", [False, True])
def test_the_fast_views_follow_the_ball(tv_action, see_through_walls, make_vec):
    options = {"tv_action": tv_action, "see_through_walls": see_through_walls, "max_steps": 80}
    ours = make_vec(NOISY_TV_ID, 5, **options)
    package = make_vec(NOISY_TV_ID, 5, mode="sync", **options)
    assert step_effect(type(ours.envs[0])) is Effect.LISTED
    seen = set()

    def actions(rng, env):
        for one in env.envs:
            seen.add((one.tv.color, one.carrying is one.tv))
        return watch_tv(rng, env)

    assert assert_equal_play(ours, package, 300, 7, actions) >= 15
    assert seen == {(color, held) for color in COLOR_NAMES for held in (False, True)}


def test_a_far_ball_s_color_is_part_of_the_state(make_vec):
    env = make_vec(NOISY_TV_ID, 1)
    _, infos = env.reset(seed=0)
    one = env.envs[0]
    one.agent_pos = one.goal_pos
    keys_of_color = collections.defaultdict(set)
    for _ in range(60):
        *_, infos = env.step(np.array([Actions.done]))
        keys_of_color[one.tv.color].add(infos["state_key"].item())
    assert keys_of_color.keys() == set(COLOR_NAMES)
    assert all(len(keys) == 1 for keys in keys_of_color.values())
    assert len(set.union(*keys_of_color.values())) == len(COLOR_NAMES)
