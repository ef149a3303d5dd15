"""The contract of a Gymnasium vector environment, and the ids as RLlib and Gymnasium use them."""

import subprocess
import sys

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode
from gymnasium.wrappers.vector import DictInfoToList
from minigrid.minigrid_env import MiniGridEnv

from rllib_ride.envs import register
from rllib_ride.envs.minigrid_vector import MiniGridVectorEnv

N7S4 = "MiniGrid-MultiRoom-N7-S4-v0"
LEFT, FORWARD = 0, 2


def play(env, seed, steps):
    """Full grids for fixed actions, [steps + 1, N, W, H, 3], and episode ends, [steps, N]."""
    actions = np.random.default_rng(0).integers(0, 7, size=(steps, env.num_envs))
    env.reset(seed=seed)
    grids, ends = [env.full_grids()], []
    for action in actions:
        _, _, terminated, truncated, _ = env.step(action)
        grids.append(env.full_grids())
        ends.append(terminated | truncated)
    return np.stack(grids), np.stack(ends)


def test_same_seed_same_run_of_levels(make_vec):
    first, ends = play(make_vec(N7S4, 3, max_episode_steps=10), seed=7, steps=45)
    again, _ = play(make_vec(N7S4, 3, max_episode_steps=10), seed=7, steps=45)
    other, _ = play(make_vec(N7S4, 3, max_episode_steps=10), seed=100, steps=45)
    assert ends.sum(axis=0).min() >= 4
    np.testing.assert_array_equal(first, again)
    assert (first != other).any(axis=(2, 3, 4)).all()


def test_int_seed_gives_environment_i_its_own(make_vec):
    env = make_vec(N7S4, 4)
    env.reset(seed=20)
    from_int = env.full_grids()
    env.reset(seed=[23, 22, 21, 20])
    np.testing.assert_array_equal(from_int, env.full_grids()[::-1])
    assert len({grid.tobytes() for grid in from_int}) == 4


def test_reset_without_seed_goes_on_to_new_levels(make_vec):
    env = make_vec(N7S4, 3)
    env.reset(seed=20)
    seen = [env.full_grids()]
    for seed in (None, [None, None, None]):
        env.reset(seed=seed)
        seen.append(env.full_grids())
    assert len({grid.tobytes() for grid in np.concatenate(seen)}) == 9


def test_wrong_number_of_seeds_is_refused(make_vec):
    with pytest.raises(ValueError, match="2 seeds for 3 environments"):
        make_vec(N7S4, 3).reset(seed=[1, 2])


def test_the_step_after_an_end_only_resets(make_vec):
    env = make_vec("MiniGrid-Empty-5x5-v0", 2, max_steps=3)
    env.reset(seed=0)
    turn = np.full(2, LEFT)
    for _ in range(2):
        assert not env.step(turn)[3].any()
    _, _, terminated, truncated, infos = env.step(turn)
    assert truncated.all() and not terminated.any()
    before = infos["state_key"]
    # A forward step would move the agent off its first cell; a reset leaves it there.
    obs, reward, terminated, truncated, infos = env.step(np.full(2, FORWARD))
    assert not reward.any() and not terminated.any() and not truncated.any()
    assert (infos["state_key"] != before).all()
    first_obs, first_infos = env.reset()
    np.testing.assert_array_equal(obs, first_obs)
    np.testing.assert_array_equal(infos["state_key"], first_infos["state_key"])
    assert env.metadata["autoreset_mode"] is AutoresetMode.NEXT_STEP


def test_reset_forgets_that_episodes_ended(make_vec):
    env = make_vec("MiniGrid-Empty-5x5-v0", 2, max_steps=1)
    env.reset(seed=0)
    assert env.step(np.full(2, LEFT))[3].all()
    env.reset()
    assert env.step(np.full(2, LEFT))[3].all()


def test_reaching_the_goal_ends_an_episode_with_the_package_s_reward(make_vec):
    env = make_vec("MiniGrid-Empty-5x5-v0", 1)
    env.reset(seed=0)
    path = [FORWARD, FORWARD, 1, FORWARD, FORWARD]
    *_, (_, reward, terminated, truncated, _) = [env.step(np.array([a])) for a in path]
    assert terminated[0] and not truncated[0]
    assert reward[0] == pytest.approx(1 - 0.9 * len(path) / 100)


def test_observations_of_earlier_steps_stay_as_they_were(make_vec):
    env = make_vec(N7S4, 2)
    obs, infos = env.reset(seed=0)
    kept, kept_key = obs.copy(), infos["state_key"].copy()
    for _ in range(5):
        env.step(np.array([LEFT, FORWARD]))
    np.testing.assert_array_equal(obs, kept)
    np.testing.assert_array_equal(infos["state_key"], kept_key)


def test_spaces(make_vec):
    env = make_vec(N7S4, 3)
    assert env.single_observation_space == gym.spaces.Box(0, 255, (7, 7, 3), np.uint8)
    assert env.observation_space == gym.spaces.Box(0, 255, (3, 7, 7, 3), np.uint8)
    assert env.single_action_space == gym.spaces.Discrete(7)
    obs, _ = env.reset(seed=0)
    assert obs in env.observation_space
    assert env.action_space.sample() in env.action_space


def test_pictures_are_the_package_s(make_vec):
    env = make_vec(N7S4, 2, render_mode="rgb_array")
    env.reset(seed=0)
    env.step(np.array([LEFT, FORWARD]))
    frames = env.render()
    for i, frame in enumerate(frames):
        np.testing.assert_array_equal(frame, env.envs[i].render())
    np.testing.assert_array_equal(env.get_frame(1, tile_size=4), env.envs[1].get_frame(tile_size=4))
    assert env.get_frame(1, tile_size=4).shape == (100, 100, 3)
    assert make_vec(N7S4, 2).render() is None


def test_infos_reach_rllib_s_list_of_infos(make_vec):
    """RLlib wraps its vector environments in DictInfoToList."""
    env = DictInfoToList(make_vec(N7S4, 2))
    _, infos = env.reset(seed=0)
    _, _, _, _, later = env.step(np.array([LEFT, LEFT]))
    keys = [info["state_key"] for info in infos + later]
    assert all(isinstance(key, np.uint64) for key in keys)
    assert len(set(keys)) == 4


def test_unknown_observation_is_refused():
    with pytest.raises(ValueError, match="observation='pixels'.*image.*dict"):
        MiniGridVectorEnv(N7S4, 2, observation="pixels")


def test_an_id_that_is_no_minigrid_is_refused():
    with pytest.raises(ValueError, match="CartPole-v1 makes a CartPoleEnv"):
        MiniGridVectorEnv("CartPole-v1", 2)


@pytest.mark.filterwarnings("ignore:.*out of date")
def test_every_id_has_the_vector_entry_point(package_id):
    assert gym.spec(package_id).vector_entry_point == f"rllib_ride.envs.entry_points:{package_id}"


def test_registering_again_changes_nothing():
    before = {
        env_id: spec.to_json() for env_id, spec in gym.registry.items() if "MiniGrid" in env_id
    }
    register()
    after = {
        env_id: spec.to_json() for env_id, spec in gym.registry.items() if "MiniGrid" in env_id
    }
    assert before == after


def test_a_single_environment_is_still_the_package_s():
    env = gym.make(N7S4)
    obs, _ = env.reset(seed=0)
    assert type(env.unwrapped).__module__ == "minigrid.envs.multiroom"
    assert obs.keys() == {"image", "direction", "mission"}
    assert isinstance(env.unwrapped, MiniGridEnv)


def test_importing_the_package_is_enough():
    code = (
        "import rllib_ride, gymnasium, sys\n"
        "print('numba' in sys.modules)\n"
        f"env = gymnasium.make_vec({N7S4!r}, num_envs=2, vectorization_mode='vector_entry_point')\n"
        "print(type(env).__name__, env.reset(seed=0)[0].shape)\n"
        "print({'ray', 'torch'} & sys.modules.keys())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["False", "MiniGridVectorEnv (2, 7, 7, 3)", "set()"]
