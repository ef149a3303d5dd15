"""Super Mario Bros 1-1: the same task with either version of the package."""

import subprocess
import sys

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import rllib_ride  # noqa: F401  (registers the environments)

pytest.importorskip("gym_super_mario_bros", reason="needs the extra rllib-ride[mario]")
from rllib_ride.envs.mario import ACTIONS  # noqa: E402

MARIO = "Mario-1-1-v0"
NOTHING = ACTIONS.index(())
LEFT = ACTIONS.index(("left",))
RUN = ACTIONS.index(("right", "B"))
JUMP = ACTIONS.index(("right", "A", "B"))


@pytest.fixture
def make():
    """Makes the environment, closed after the test."""
    made = []

    def make_env(**kwargs):
        made.append(gym.make(MARIO, disable_env_checker=True, **kwargs).unwrapped)
        return made[-1]

    yield make_env
    for env in made:
        env.close()


def play(env, actions):
    """What `step` returned, up to the end of the episode."""
    env.reset(seed=0)
    steps = []
    for action in actions:
        steps.append(env.step(action))
        if steps[-1][2] or steps[-1][3]:
            break
    return steps


def test_actions_are_all_that_the_pad_can_usefully_do():
    assert len(ACTIONS) == len({frozenset(buttons) for buttons in ACTIONS}) == 14
    across = {frozenset(buttons) & {"left", "right", "up", "down"} for buttons in ACTIONS}
    assert across == {frozenset(), *(frozenset({d}) for d in ("left", "right", "up", "down"))}


@pytest.mark.parametrize(
    ("action_repeat", "actions", "frames", "total", "x", "dead", "key"),
    [
        (4, [RUN] * 400, 106, 252.0, 315, True, 16059223448770672897),
        (1, [RUN] * 100, 100, 252.0, 297, False, 14710570191227549571),
        (4, [JUMP] * 5 + [RUN] * 4 + [LEFT] * 3, 48, 51.0, 93, False, 13696167107990023961),
    ],
)
def test_both_versions_of_the_package_play_alike(
    make, action_repeat, actions, frames, total, x, dead, key
):
    """The expected values were measured with versions 7.4 and 9.1; they are equal."""
    steps = play(make(action_repeat=action_repeat), actions)
    *_, terminated, truncated, last = steps[-1]
    assert sum(infos["env_frames"] for *_, infos in steps) == frames
    assert sum(reward for _, reward, *_ in steps) == total
    assert (terminated, truncated, last["flag_get"]) == (dead, False, False)
    assert (last["x_pos"], last["state_key"]) == (x, np.uint64(key))


def test_rewards_are_version_7_s(make):
    env = make()
    step, theirs = env._game.step, []
    if not hasattr(type(env._game.unwrapped), "_x_reward"):
        pytest.skip("version 9 of gym-super-mario-bros has other rewards")

    def listen(action):
        result = step(action)
        theirs.append(result[1])
        return result

    env._game.step = listen
    rng = np.random.default_rng(0)
    actions = rng.choice([JUMP, RUN, LEFT, NOTHING], size=100, p=[0.5, 0.3, 0.1, 0.1])
    ours = 0.0
    for part in np.split(actions, 2):
        ours += sum(reward for _, reward, *_ in play(env, part.repeat(3)))
    assert ours == sum(theirs)
    assert min(theirs) == -15, "no death in it"
    assert len(theirs) > 150


def test_the_flag_ends_the_level_at_no_cost(make):
    env = make(action_repeat=4)
    env.reset(seed=0)
    ram = env._game.unwrapped.ram
    ram[0x16], ram[0x0E], ram[0x1D] = 0x31, 4, 3  # A flagpole is there and Mario slides down it.
    _, reward, terminated, truncated, infos = env.step(NOTHING)
    assert (terminated, truncated, infos["flag_get"]) == (True, False, True)
    assert infos["env_frames"] == 1 and reward == 0


def test_every_episode_starts_alike(make):
    env = make()
    first, infos = env.reset(seed=0)
    assert infos["x_pos"] == 40 and not infos["flag_get"]
    env.step(RUN)
    for seed in (1, None):
        again, infos = env.reset(seed=seed)
        np.testing.assert_array_equal(first, again)
        assert infos["x_pos"] == 40


def test_render_is_the_screen_in_colour(make):
    env = make(render_mode="rgb_array")
    obs, _ = env.reset(seed=0)
    picture = env.render()
    assert picture.shape == (240, 256, 3) and picture.dtype == np.uint8
    np.testing.assert_array_equal(picture, env._game.unwrapped.screen)
    assert (picture[:, :, 2] > picture[:, :, 0]).mean() > 0.5, "the sky is blue"
    assert obs.mean() == pytest.approx((picture @ [0.299, 0.587, 0.114]).mean(), abs=1)
    picture[:] = 0
    assert env.render().any(), "a picture is a copy"


def test_gymnasium_finds_no_fault():
    env = gym.make(MARIO, render_mode="rgb_array")
    check_env(env.unwrapped)
    env.close()


def test_a_vector_of_them(make_vec):
    env = make_vec(MARIO, 2, mode="sync", action_repeat=60)
    first, infos = env.reset(seed=0)
    assert first.shape == (2, 42, 42, 4) and infos["state_key"].dtype == np.uint64
    env.step(np.array([RUN, NOTHING]))
    _, _, terminated, _, infos = env.step(np.array([RUN, NOTHING]))
    assert terminated.tolist() == [True, False]
    assert infos["env_frames"].tolist() == [106 - 60, 60]
    obs, reward, terminated, _, infos = env.step(np.array([RUN, NOTHING]))
    np.testing.assert_array_equal(obs[0], first[0])
    assert reward[0] == 0 and not terminated.any()
    assert infos["env_frames"].tolist() == [0, 60]


def test_nothing_is_printed():
    code = f"import gymnasium, rllib_ride; gymnasium.make({MARIO!r}).reset(seed=0)"
    done = subprocess.run(
        [sys.executable, "-W", "always", "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout == done.stderr == ""


def test_a_missing_package_is_told_with_the_extra_that_brings_it(monkeypatch):
    for name in [name for name in sys.modules if name.startswith("gym_super_mario_bros")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "gym_super_mario_bros", None)
    with pytest.raises(gym.error.DependencyNotInstalled, match=r"'rllib-ride\[mario\]'"):
        gym.make(MARIO)


@pytest.mark.slow
def test_the_clock_ends_an_idle_episode(make):
    steps = play(make(action_repeat=4), [NOTHING] * 2100)
    _, reward, terminated, truncated, infos = steps[-1]
    assert terminated and not truncated and reward <= -15
    assert sum(infos["env_frames"] for *_, infos in steps) == 8019
