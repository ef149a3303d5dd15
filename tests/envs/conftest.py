import gymnasium as gym
import pytest

import rllib_ride  # noqa: F401  (registers the environments)

IDS = sorted(env_id for env_id in gym.registry if env_id.startswith(("MiniGrid-", "BabyAI-")))


def pytest_generate_tests(metafunc):
    if "package_id" in metafunc.fixturenames:
        metafunc.parametrize("package_id", IDS)


@pytest.fixture
def make_vec():
    """Makes the vector environment of an id, closed after the test."""
    made = []

    def make(env_id, num_envs, mode="vector_entry_point", **kwargs):
        env = gym.make_vec(env_id, num_envs=num_envs, vectorization_mode=mode, **kwargs)
        made.append(env)
        return env

    yield make
    for env in made:
        env.close()
