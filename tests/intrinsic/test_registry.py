from __future__ import annotations

import doctest
from collections.abc import Iterator

import gymnasium as gym
import numpy as np
import pytest
import torch

from rllib_ride.intrinsic import (
    Ride,
    Transitions,
    get_method,
    method,
    methods,
    register_method,
    registry,
)


@pytest.fixture(autouse=True)
def only_for_this_test(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(registry, "_METHODS", dict(registry._METHODS))
    yield


class Mine(Ride):
    pass


def test_names_this_package_has() -> None:
    assert get_method("ride") is Ride
    assert get_method("none") is None
    assert {"none", "ride"} <= set(methods())


def test_a_user_s_method_has_a_name_once_registered() -> None:
    register_method("mine", Mine)
    assert get_method("mine") is Mine and "mine" in methods()
    register_method("mine", Mine)  # a notebook's cell, run again


def test_an_unknown_name_is_told_the_names_and_the_nearest() -> None:
    with pytest.raises(ValueError, match=r"'Ridee' is unknown; did you mean 'ride'\? .*none, "):
        get_method("Ridee")
    with pytest.raises(ValueError, match=f"'xyz' is unknown. Known: {', '.join(methods())}$"):
        get_method("xyz")


@pytest.mark.parametrize("name", ["ride", "none"])
def test_a_taken_name_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match=f"'{name}' is already"):
        register_method(name, Mine)
    assert get_method(name) is not Mine


@pytest.mark.parametrize("cls", [torch.nn.Linear, "ride"])
def test_what_is_no_method_is_refused(cls: type) -> None:
    with pytest.raises(TypeError, match="IntrinsicMethod"):
        register_method("mine", cls)


def test_the_example_in_the_documentation_works() -> None:
    finder = doctest.DocTestFinder(recurse=False)
    (example,) = finder.find(method.IntrinsicMethod, "IntrinsicMethod", globs={})
    assert doctest.DocTestRunner().run(example, clear_globs=False).failed == 0

    cls = get_method("reconstruction")
    assert cls is not None
    reconstruction = cls(gym.spaces.Box(0, 255, (7, 7, 3), np.uint8), gym.spaces.Discrete(4))
    mask = torch.arange(5)[:, None] < torch.tensor([5, 2])
    transitions = Transitions(
        obs=torch.randint(0, 11, (6, 2, 7, 7, 3), dtype=torch.uint8),
        actions=torch.zeros(5, 2, dtype=torch.long),
        episodic_counts=torch.ones(5, 2),
        mask=mask,
        state_keys=torch.zeros(5, 2, dtype=torch.long),
        episode_ids=torch.tensor([1, 2]),
        t_started=torch.zeros(2, dtype=torch.long),
    )
    bonus = reconstruction.bonus(transitions)
    assert (bonus[mask] > 0).all() and not bonus[~mask].any()
    loss, metrics = reconstruction.loss(transitions)
    loss.backward()
    assert loss == metrics["readout_loss"] > 0
