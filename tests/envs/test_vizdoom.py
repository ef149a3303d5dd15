"""VizDoom's my_way_home: spawns, the way to the vest, and an engine that never outlives us."""

import math
import os
import signal
import subprocess
import sys
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import rllib_ride  # noqa: F401  (registers the environments)
from helpers.processes import psutil
from helpers.waiting import comes_true
from rllib_ride.envs.vizdoom_wad import SPOTS, fixed_spawn

vizdoom = pytest.importorskip("vizdoom", reason="needs the extra rllib-ride[vizdoom]")

SPARSE, VERY_SPARSE, DENSE = (
    f"VizDoomMyWayHome-{spawn}-v0" for spawn in ("Sparse", "VerySparse", "Dense")
)
FORWARD, LEFT, RIGHT, NOTHING = range(4)
START = (240.0, -176.0, 0.0)
# Around the inner corners of the map, from the door of the first room to the vest.
WAY = [(544, -176), (672, -100), (688, -20), (770, 48), (960, 40), (1040, -30), (1040, -352)]


@pytest.fixture
def make():
    """Makes the environment of an id, closed after the test."""
    made = []

    def make_env(env_id=SPARSE, **kwargs):
        made.append(gym.make(env_id, disable_env_checker=True, **kwargs).unwrapped)
        return made[-1]

    yield make_env
    for env in made:
        env.close()


def walk_to_the_vest(env, seed):
    """Turns to the next point of `WAY`, then walks; yields what `step` returns."""
    env.reset(seed=seed)
    for i, (goal_x, goal_y) in enumerate(WAY):
        while True:
            x, y, angle = env.pose
            dx, dy = goal_x - x, goal_y - y
            if i < len(WAY) - 1 and math.hypot(dx, dy) < 40:
                break
            off = (math.degrees(math.atan2(dy, dx)) - angle + 180) % 360 - 180
            action = FORWARD if abs(off) < 3 * env.action_repeat else LEFT if off > 0 else RIGHT
            step = env.step(action)
            yield step
            if step[2] or step[3]:
                return


def test_fixed_spawn_changes_three_numbers_and_nothing_else():
    wad = Path(vizdoom.scenarios_path, "my_way_home.wad").read_bytes()
    changed = fixed_spawn(wad, 15)
    places = [i for i, (a, b) in enumerate(zip(wad, changed, strict=True)) if a != b]
    assert [(wad[i], changed[i]) for i in places] == [(1, 0), (10, 15), (17, 1)]


def test_fixed_spawn_refuses_what_it_does_not_know():
    wad = Path(vizdoom.scenarios_path, "my_way_home.wad").read_bytes()
    with pytest.raises(ValueError, match="spot 27: expected 10 to 26"):
        fixed_spawn(wad, SPOTS.stop)
    with pytest.raises(ValueError, match="not the one known"):
        fixed_spawn(wad[: len(wad) // 2], 10)


@pytest.mark.parametrize(
    ("env_id", "start"), [(SPARSE, START), (VERY_SPARSE, (543.986, -672.089, 0.0))]
)
def test_a_fixed_spawn_is_the_same_in_every_episode(make, env_id, start):
    env = make(env_id)
    views = []
    for seed in (0, 1, None, None):
        obs, _ = env.reset(seed=seed)
        assert env.pose == pytest.approx(start, abs=1e-3)
        views.append(obs)
        env.step(RIGHT)
    assert all((view == views[0]).all() for view in views)


def test_dense_draws_spot_and_heading_from_the_seed(make):
    env = make(DENSE)

    def poses(seed):
        env.reset(seed=seed)
        drawn = [env.pose]
        for _ in range(39):
            env.reset()
            drawn.append(env.pose)
        return drawn

    drawn = poses(3)
    assert drawn == poses(3)
    assert drawn[:5] != poses(4)[:5]
    assert 10 <= len({pose[:2] for pose in drawn}) <= len(SPOTS)
    assert len({pose[2] for pose in drawn}) > 30


def test_the_vest_is_270_frames_from_the_sparse_spawn(make):
    *before, last = walk_to_the_vest(make(action_repeat=1), seed=0)
    _, reward, terminated, truncated, _ = last
    assert (reward, terminated, truncated) == (1.0, True, False)
    assert all(step[1:4] == (0.0, False, False) for step in before)
    assert 255 <= len(before) + 1 <= 285


def test_frames_of_repeated_actions_are_counted(make):
    """With training's action repeat, the same path takes a quarter of the steps."""
    steps = list(walk_to_the_vest(make(action_repeat=4), seed=0))
    assert steps[-1][1:4] == (1.0, True, False)
    frames = [step[-1]["env_frames"] for step in steps]
    assert set(frames[:-1]) == {4} and 1 <= frames[-1] <= 4
    assert 255 <= sum(frames) <= 350


@pytest.mark.parametrize(("action_repeat", "steps", "last"), [(4, 525, 4), (500, 5, 100)])
def test_an_episode_is_cut_off_after_2100_frames(make, action_repeat, steps, last):
    env = make(action_repeat=action_repeat)
    env.reset(seed=0)
    for _ in range(steps - 1):
        assert not any(env.step(NOTHING)[2:4])
    _, reward, terminated, truncated, infos = env.step(NOTHING)
    assert (reward, terminated, truncated, infos["env_frames"]) == (0.0, False, True, last)


def test_actions_do_what_they_say(make):
    env = make(action_repeat=8)
    env.reset(seed=0)
    env.step(FORWARD)
    x, y, angle = env.pose
    assert x > START[0] and (y, angle) == START[1:]
    turned = []
    for action in (LEFT, RIGHT):
        env.reset()
        env.step(action)
        turned.append((env.pose[2] + 180) % 360 - 180)
    assert turned[0] > 5 and turned[1] == pytest.approx(-turned[0], abs=0.1)
    env.reset()
    env.step(NOTHING)
    assert env.pose == START


def test_rendering_in_colour_changes_no_observation(make):
    plain, colourful = make(), make(render_mode="rgb_array")
    plain.reset(seed=0), colourful.reset(seed=0)
    for action in np.random.default_rng(0).integers(4, size=60):
        ours, theirs = plain.step(action), colourful.step(action)
        np.testing.assert_array_equal(ours[0], theirs[0])
        assert ours[1:] == theirs[1:]
    picture = colourful.render()
    assert picture.shape == (120, 160, 3) and picture.dtype == np.uint8
    assert (picture != picture[:, :, :1]).any(), "no colour in it"
    assert plain.render() is None


@pytest.mark.parametrize("env_id", [SPARSE, DENSE])
def test_gymnasium_finds_no_fault(env_id):
    env = gym.make(env_id, render_mode="rgb_array")
    check_env(env.unwrapped)
    env.close()


def test_a_vector_of_them(make_vec):
    env = make_vec(SPARSE, 3, mode="sync", action_repeat=700)
    first, infos = env.reset(seed=0)
    assert first.shape == (3, 42, 42, 4)
    for _ in range(2):
        env.step(np.array([LEFT, FORWARD, NOTHING]))
    *_, truncated, infos = env.step(np.array([LEFT, FORWARD, NOTHING]))
    assert truncated.all() and infos["env_frames"].tolist() == [700] * 3
    obs, reward, terminated, truncated, infos = env.step(np.full(3, FORWARD))
    np.testing.assert_array_equal(obs, first)
    assert not reward.any() and not terminated.any() and not truncated.any()
    assert infos["env_frames"].tolist() == [0] * 3


def test_unknown_spawn_is_refused():
    with pytest.raises(ValueError, match="spawn='far'.*sparse"):
        gym.make(SPARSE, spawn="far")


def test_a_missing_package_is_told_with_the_extra_that_brings_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "vizdoom", None)
    with pytest.raises(gym.error.DependencyNotInstalled, match=r"'rllib-ride\[vizdoom\]'"):
        gym.make(SPARSE)


def engines(parent):
    """Process ids of the engines that `parent` started."""
    return [
        process.pid
        for process in psutil.process_iter(["ppid", "cmdline"])
        if process.info["ppid"] == parent and "+viz_controlled" in (process.info["cmdline"] or ())
    ]


def gone(pid):
    """Whether a process ends within ten seconds."""
    return comes_true(lambda: not psutil.pid_exists(pid), 10)


def test_close_leaves_neither_processes_nor_files(make, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    (tmp_path / "tmp").mkdir()
    env = make()
    assert not engines(os.getpid()), "an engine before there is an episode"
    env.reset(seed=0)
    env.step(FORWARD)
    (pid,) = engines(os.getpid())
    env.reset()
    env.close()
    assert gone(pid)
    assert [str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*")] == ["tmp"]
    env.close()
    obs, _ = env.reset(seed=0)
    assert obs.any(), "a closed environment can be reset"


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel's parent death signal")
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_a_killed_process_takes_its_engine_with_it(how):
    code = (
        "import gymnasium, rllib_ride, threading, time\n"
        f"env = gymnasium.make({SPARSE!r})\n"
        "starter = threading.Thread(target=lambda: env.reset(seed=0))\n"
        "starter.start(); starter.join(); time.sleep(0.5)\n"
        "env.step(0)\n"
        "print('stepped', flush=True)\n"
        "time.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as child:
        # The thread that started the engine has ended, but the engine has not.
        assert child.stdout.readline() == "stepped\n"
        (pid,) = engines(child.pid)
        child.send_signal(how)
        child.wait(10)
    assert gone(pid)
