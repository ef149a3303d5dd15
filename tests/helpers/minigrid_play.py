"""Random play that uses a level's objects, in this project's and the package's environments."""

import numpy as np
from gymnasium.vector import SyncVectorEnv
from minigrid.wrappers import FullyObsWrapper

# left, right, forward, pickup, drop, toggle, done: opens and picks up more than uniform play does.
ACTION_WEIGHTS = np.array([0.12, 0.12, 0.34, 0.14, 0.08, 0.18, 0.02])


def random_actions(rng, env):
    """One action for each environment: ints [N]."""
    weights = ACTION_WEIGHTS[: env.single_action_space.n]
    return rng.choice(len(weights), size=env.num_envs, p=weights / weights.sum())


def assert_equal_play(ours, package, steps, seed, actions=random_actions):
    """Plays both with the same actions, asserts equality and returns how many episodes ended.

    Args:
        ours: the vector environment under test.
        package: Gymnasium's SyncVectorEnv of the package's environments, same id and options.
        steps: number of steps of each environment.
        seed: of both and of the actions.
        actions: called with a generator and `ours`; returns ints [N].
    """
    assert isinstance(package.unwrapped, SyncVectorEnv)
    rng = np.random.default_rng(seed)
    full_views = [FullyObsWrapper(env) for env in package.envs]
    (obs, infos), (expected, package_infos) = ours.reset(seed=seed), package.reset(seed=seed)
    ends = 0
    for _ in range(steps):
        np.testing.assert_array_equal(obs, expected["image"])
        full = np.stack([view.observation({})["image"] for view in full_views])
        np.testing.assert_array_equal(ours.full_grids(), full)
        assert infos.keys() - {"state_key", "_state_key"} == package_infos.keys()
        action = actions(rng, ours)
        obs, reward, terminated, truncated, infos = ours.step(action)
        expected, *expected_end, package_infos = package.step(action)
        for array, expected_array in zip(
            (reward, terminated, truncated), expected_end, strict=True
        ):
            assert array.dtype == expected_array.dtype
            np.testing.assert_array_equal(array, expected_array)
        ends += int((terminated | truncated).sum())
    assert obs.dtype == np.uint8
    return ends
