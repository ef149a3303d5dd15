"""State keys: equal for equal full grids, whatever the history and the process."""

import os
import subprocess
import sys

import numpy as np
import pytest

from helpers.minigrid_play import random_actions

MASK = 2**64 - 1


def mix(value):
    """SplitMix64's finalizer, in Python's integers."""
    value = (value ^ value >> 30) * 0xBF58476D1CE4E5B9 & MASK
    value = (value ^ value >> 27) * 0x94D049BB133111EB & MASK
    return value ^ value >> 31


def key_from_scratch(full):
    """Key of one full grid [W, H, 3] by its definition."""
    width, height, _ = full.shape
    return (
        sum(
            mix(x << 48 | y << 32 | int.from_bytes(full[x, y].tobytes(), "little"))
            for x in range(width)
            for y in range(height)
        )
        & MASK
    )


@pytest.mark.parametrize(
    "env_id",
    [
        "MiniGrid-MultiRoom-N2-S4-v0",
        "MiniGrid-ObstructedMaze-1Dlhb-v0",
        "MiniGrid-Dynamic-Obstacles-6x6-v0",
        "BabyAI-PutNextS5N2Carrying-v0",
    ],
)
def test_key_is_the_hash_of_the_full_grid(env_id, make_vec):
    env = make_vec(env_id, 5, max_episode_steps=40)
    rng = np.random.default_rng(1)
    _, infos = env.reset(seed=6)
    grids_of_key: dict[int, set[bytes]] = {}
    visits = 0
    for _ in range(120):
        assert infos["state_key"].dtype == np.uint64 and infos["_state_key"].all()
        for key, full in zip(infos["state_key"].tolist(), env.full_grids(), strict=True):
            grids_of_key.setdefault(key, set()).add(full.tobytes())
            visits += 1
        sample = rng.integers(env.num_envs)
        assert infos["state_key"][sample] == key_from_scratch(env.full_grids()[sample])
        *_, infos = env.step(random_actions(rng, env))
    assert all(len(grids) == 1 for grids in grids_of_key.values())
    grids = [full for grids in grids_of_key.values() for full in grids]
    assert len(grids) == len(set(grids))
    assert len(grids) < visits, "no state was visited twice: equal keys were not tried"


def test_keys_are_the_same_in_every_process_and_for_every_view_size(make_vec):
    env_id = "MiniGrid-MultiRoom-N7-S4-v0"
    code = (
        "import rllib_ride, gymnasium, numpy\n"
        f"env = gymnasium.make_vec({env_id!r}, num_envs=3, agent_view_size=3)\n"
        "env.reset(seed=4)\n"
        "print(env.step(numpy.array([0, 2, 5]))[-1]['state_key'].tolist())"
    )
    there = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONHASHSEED": "123"},
    )
    env = make_vec(env_id, 3)
    env.reset(seed=4)
    here = env.step(np.array([0, 2, 5]))[-1]["state_key"].tolist()
    assert there.stdout.strip() == str(here)
