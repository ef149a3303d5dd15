"""What identifies a state, and how often each was visited in its episode."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest

import rllib_ride
from rllib_ride.rllib.settings import IntrinsicSettings
from rllib_ride.rllib.visits import StateVisits, numeric_entries, observation_entry

N = 2
BOX = gym.spaces.Box(0, 255, (3,), np.uint8)
NOBODY = np.zeros(N, bool)


def obs(*numbers: int) -> np.ndarray:
    """One observation for each environment, `[N, 3]`."""
    return np.array([[number, 7, 7] for number in numbers], np.uint8)


def keys(*numbers: int) -> dict[str, Any]:
    return {"state_key": np.array(numbers, np.uint64)}


def test_full_counts_the_environments_key_whatever_is_seen() -> None:
    visits = StateVisits(N, "full", BOX)
    visits.begin(obs(0, 0), keys(5, 2**64 - 1))
    found, counts = visits.visit(obs(1, 1), keys(5, 6), NOBODY)
    assert found.tolist() == [5, 6] and counts.tolist() == [2, 1]
    found, counts = visits.visit(obs(0, 0), keys(6, 2**64 - 1), NOBODY)
    assert counts.tolist() == [1, 2]
    # The column is signed, but keeps all 64 bits of the key.
    assert found.dtype == np.int64 and found.view(np.uint64).tolist() == [6, 2**64 - 1]


def test_view_counts_the_observation_whatever_the_environments_key() -> None:
    visits = StateVisits(N, "view", BOX)
    visits.begin(obs(0, 1), keys(1, 1))
    first, counts = visits.visit(obs(1, 1), keys(2, 2), NOBODY)
    assert first[0] == first[1] and counts.tolist() == [1, 2]
    again, counts = visits.visit(obs(0, 2), {}, NOBODY)
    assert counts.tolist() == [2, 1] and len({*first, *again}) == 3


def test_none_counts_nothing() -> None:
    visits = StateVisits(N, "none", BOX)
    visits.begin(obs(0, 0), {})
    for _ in range(3):
        found, counts = visits.visit(obs(0, 0), {}, NOBODY)
        assert found.tolist() == [0, 0] and counts.tolist() == [1, 1]


def test_nobody_counts_for_a_method_that_reads_no_counts() -> None:
    env = gym.make_vec("CartPole-v1", num_envs=N)
    seen = np.zeros((N, 4), np.float32)
    counting = {"count", "noveld", "only_episodic_counts", "ride", "ride_raw_observations"}
    counting |= {"ride_shared_embedding", "of_another_process"}
    for method in [*rllib_ride.methods(), "of_another_process"]:
        visits = StateVisits.of(env, IntrinsicSettings(method=method, counts="view"))
        visits.begin(seen, {})
        _, counts = visits.visit(seen, {}, NOBODY)
        assert counts.tolist() == ([2, 2] if method in counting else [1, 1]), method


@pytest.mark.parametrize("counts", ["full", "view"])
def test_counts_begin_anew_with_an_episode_of_that_environment_alone(counts: Any) -> None:
    visits = StateVisits(N, counts, BOX)
    visits.begin(obs(4, 4), keys(4, 4))
    for expected, begins in ([2, 2], NOBODY), ([3, 1], [False, True]), ([4, 2], NOBODY):
        _, n_ep = visits.visit(obs(4, 4), keys(4, 4), np.asarray(begins))
        assert n_ep.tolist() == expected


def test_the_view_of_a_dict_is_one_entry() -> None:
    space = gym.spaces.Dict({"image": BOX, "compass": gym.spaces.Discrete(4)})
    for key, expected in ((None, 2), ("image", 2), ("compass", 1)):
        visits = StateVisits(N, "view", space, key)
        visits.begin({"image": obs(3, 3), "compass": np.array([0, 1])}, {})
        _, counts = visits.visit({"image": obs(3, 3), "compass": np.array([2, 3])}, {}, NOBODY)
        assert counts.tolist() == [expected] * N


def test_full_counts_need_no_entry_of_a_dict() -> None:
    space = gym.spaces.Dict({"left": BOX, "right": BOX})
    visits = StateVisits(N, "full", space)
    visits.begin({"left": obs(0, 0), "right": obs(0, 0)}, keys(1, 1))
    _, counts = visits.visit({"left": obs(1, 1), "right": obs(1, 1)}, keys(1, 2), NOBODY)
    assert counts.tolist() == [2, 1]


@pytest.mark.parametrize(
    ("entries", "expected"),
    [
        (["image", "direction", "mission"], "image"),
        (["action_mask", "observations"], "observations"),
        (["observation", "desired_goal"], "observation"),
        (["action_mask", "image", "observations"], "image"),
        (["image", "observations"], "image"),
        (["lidar"], "lidar"),
    ],
)
def test_the_obvious_entry_needs_no_setting(entries: list[str], expected: str) -> None:
    space = gym.spaces.Dict(dict.fromkeys(entries, BOX))
    assert observation_entry(space, None) == expected
    assert observation_entry(space, entries[-1]) == entries[-1]


def test_errors_name_what_would_be_right() -> None:
    two = gym.spaces.Dict({"left": BOX, "right": BOX})
    for space, key, message in (
        (two, None, r"set observation_key .*\['left', 'right'\]"),
        (two, "up", r"observation_key='up' is no entry .*\['left', 'right'\]"),
        (BOX, "image", "observation_key='image', but observations are no Dict"),
    ):
        with pytest.raises(ValueError, match=message):
            StateVisits(N, "view", space, key)
    with pytest.raises(ValueError, match="infos have a 'state_key'.*counts='view'"):
        StateVisits(N, "full", BOX).begin(obs(0, 0), {})
    assert observation_entry(BOX, None) is None


def test_only_text_is_left_out_of_an_observation() -> None:
    numbers: dict[str, Any] = {
        "image": obs(1, 2),
        "direction": np.array([0, 3]),
        "position": np.zeros((N, 2), np.float32),
        "is_carrying": np.array([True, False]),
    }
    text = ("get the key", "open the door")
    found = numeric_entries({**numbers, "mission": text, "inner": {"a": obs(1, 2), "b": text}})
    assert set(found) == {*numbers, "inner"} and set(found["inner"]) == {"a"}
    for name, value in numbers.items():
        assert found[name] is value
    assert numeric_entries(numbers["image"]) is numbers["image"]
    for mission in (np.array(text), np.array(text, object), "get the key"):
        assert list(numeric_entries({"image": obs(1, 2), "mission": mission})) == ["image"]
