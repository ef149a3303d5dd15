"""Resizing, action repeat, frame stack and state key, on a game that counts its frames."""

import subprocess
import sys

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from rllib_ride.envs.catalog import PIXEL_TASKS
from rllib_ride.envs.pixels import PixelEnv, shrink, state_key


class CountingGame(PixelEnv):
    """A game whose brightness is the number of frames played; ends after `end` frames, if given.

    The reward of frame t is t.
    """

    metadata = {"render_modes": ["rgb_array"], "render_fps": 1}

    def __init__(self, action_repeat=4, max_frames=None, end=None, render_mode=None):
        super().__init__(5, action_repeat, max_frames, render_mode)
        self.end, self.count = end, 0

    def _begin(self):
        self.count = 0

    def _play(self, action, frames):
        reward = 0.0
        for taken in range(1, frames + 1):
            self.count += 1
            reward += self.count
            if self.count == self.end:
                return taken, reward, True
        return frames, reward, False

    def _grey(self):
        return np.full((60, 80), self.count, np.uint8)

    def _rgb(self):
        return np.repeat(self._grey()[:, :, None], 3, axis=2)


def play(env, steps):
    """What `step` returned, after a reset."""
    env.reset(seed=0)
    return [env.step(0) for _ in range(steps)]


@pytest.mark.parametrize(("height", "width"), [(84, 126), (120, 160), (240, 256)])
def test_a_pixel_is_the_mean_of_those_under_it(height, width):
    grey = np.random.default_rng(0).integers(256, size=(height, width), dtype=np.uint8)
    # The row or column of the small image that contains the centre of each pixel.
    rows = ((np.arange(height) + 0.5) * 42 / height).astype(int)
    columns = ((np.arange(width) + 0.5) * 42 / width).astype(int)
    total, count = np.zeros((2, 42, 42))
    np.add.at(total, np.ix_(rows, columns), grey)
    np.add.at(count, np.ix_(rows, columns), 1)
    # Pillow rounds after the columns and again after the rows.
    np.testing.assert_allclose(shrink(grey), total / count, atol=1)


def test_key_tells_shades_and_places_apart_and_no_more():
    keys = [state_key(np.full((42, 42), shade, np.uint8)) for shade in range(256)]
    assert len(set(keys)) == 8
    assert all(keys[shade] == keys[shade // 32 * 32] for shade in range(256))

    left, right = np.zeros((2, 42, 42), np.uint8)
    left[:12, :12] = 255
    right[:12, 12:24] = 255
    assert state_key(left) != state_key(right)
    assert isinstance(state_key(left), np.uint64)


def test_keys_are_the_same_in_every_process():
    # A fixed value: if keys changed, resumed runs would mix up their counts.
    assert state_key(np.full((42, 42), 7, np.uint8)) == np.uint64(15785232153440262774)


def test_stack_begins_with_the_first_frame_and_grows_at_its_end():
    env = CountingGame(action_repeat=3)
    first, _ = env.reset(seed=0)
    assert first.shape == (42, 42, 4) and first.dtype == np.uint8
    assert not first.any()
    stacks = [obs[0, 0].tolist() for obs, *_ in play(env, 5)]
    assert stacks == [[0, 0, 0, 3], [0, 0, 3, 6], [0, 3, 6, 9], [3, 6, 9, 12], [6, 9, 12, 15]]
    again, _ = env.reset()
    assert not again.any()


def test_a_step_has_the_rewards_of_its_frames():
    rewards = [reward for _, reward, *_ in play(CountingGame(action_repeat=3), 3)]
    assert rewards == [1 + 2 + 3, 4 + 5 + 6, 7 + 8 + 9]
    rewards = [reward for _, reward, *_ in play(CountingGame(action_repeat=1), 3)]
    assert rewards == [1, 2, 3]


@pytest.mark.parametrize(
    ("limits", "ends"),
    [
        ({"max_frames": 10}, (False, True)),
        ({"end": 10}, (True, False)),
        ({"end": 10, "max_frames": 10}, (True, False)),
    ],
)
def test_the_last_step_of_an_episode_may_be_shorter(limits, ends):
    *before, last = play(CountingGame(action_repeat=4, **limits), 3)
    assert all(not terminated and not truncated for _, _, terminated, truncated, _ in before)
    assert [infos["env_frames"] for *_, infos in before] == [4, 4]
    assert last[1:4] == (9 + 10, *ends)
    assert last[-1]["env_frames"] == 2


def test_infos_of_a_vector_are_arrays_that_sum_to_the_frames_played():
    vector = gym.vector.SyncVectorEnv([lambda: CountingGame(end=6)] * 3)
    _, infos = vector.reset(seed=0)
    assert infos["state_key"].dtype == np.uint64 and infos["_state_key"].all()
    frames = infos["env_frames"].copy()
    for _ in range(5):  # Two episodes of two steps each; between them a reset.
        *_, infos = vector.step(np.zeros(3, int))
        assert infos["state_key"].dtype == np.uint64 and infos["_state_key"].all()
        frames += infos["env_frames"]
    assert frames.tolist() == [12, 12, 12]
    vector.close()


def test_observations_of_earlier_steps_stay_as_they_were():
    env = CountingGame()
    first, _ = env.reset(seed=0)
    second, *_ = env.step(0)
    kept = first.copy(), second.copy()
    for _ in range(5):
        env.step(0)
    np.testing.assert_array_equal(first, kept[0])
    np.testing.assert_array_equal(second, kept[1])


def test_render():
    env = CountingGame(render_mode="rgb_array")
    env.reset(seed=0)
    env.step(0)
    np.testing.assert_array_equal(env.render(), np.full((60, 80, 3), 4))
    env = CountingGame()
    env.reset(seed=0)
    assert env.render() is None


def test_gymnasium_finds_no_fault():
    check_env(CountingGame(max_frames=50), skip_render_check=True)


def test_options_without_meaning_are_refused():
    with pytest.raises(ValueError, match="action_repeat=0: expected 1 or more"):
        CountingGame(action_repeat=0)
    with pytest.raises(ValueError, match="render_mode='human'.*rgb_array"):
        CountingGame(render_mode="human")


def test_catalog_names_registered_ids_and_the_extra_each_needs():
    assert {task.extra for task in PIXEL_TASKS} == {"vizdoom", "mario"}
    assert all(task.id in gym.registry and task.paper for task in PIXEL_TASKS)


def test_importing_the_package_imports_no_game():
    code = (
        "import rllib_ride, gymnasium, sys\n"
        "print(gymnasium.spec('Mario-1-1-v0').id)\n"
        "print({'vizdoom', 'gym', 'nes_py', 'gym_super_mario_bros', 'PIL'} & sys.modules.keys())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["Mario-1-1-v0", "set()"]
