from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch

from rllib_ride.intrinsic.spaces import (
    check_action_space,
    check_observation_space,
    flatten,
    image_shape,
    is_image,
    num_actions,
)

T, B = 4, 3


def box(*shape: int, dtype: Any = np.uint8) -> gym.spaces.Box:
    return gym.spaces.Box(0, 100, shape, dtype)


IMAGES = [box(7, 7, 3), box(42, 42, 4), box(9, 5, 3, dtype=np.float32)]
OTHERS = [
    box(5),
    gym.spaces.Box(-np.inf, np.inf, (4,), np.float64),
    box(84, 84),
    box(3, 2, dtype=np.float32),
    gym.spaces.Discrete(5),
    gym.spaces.Discrete(5, start=-2),
]


@pytest.mark.parametrize("space", IMAGES + OTHERS, ids=str)
def test_observations_that_are_supported(space: gym.Space) -> None:
    check_observation_space(space)
    assert is_image(space) == (space in IMAGES)


@pytest.mark.parametrize(
    ("space", "told"),
    [
        (
            gym.spaces.Dict(image=box(7, 7, 3), mission=gym.spaces.Text(9)),
            r"has keys \['image', 'mission'\]; .* read one of them",
        ),
        (gym.spaces.Tuple([box(3)]), r"Tuple\(.*is not supported"),
        (gym.spaces.MultiDiscrete([2, 3]), r"MultiDiscrete\(\[2 3\]\) is not supported"),
        (box(), r"has shape \(\)"),
        (box(4, 7, 7, 3), r"has shape \(4, 7, 7, 3\)"),
    ],
)
def test_other_observations_are_refused_and_what_is_supported_told(
    space: gym.Space, told: str
) -> None:
    wanted = r"a Box of images, shape \(H, W, C\).*a Box of shape \(n,\) or \(n, m\), or a Discrete"
    with pytest.raises(ValueError, match=f"{told}.*{wanted}"):
        check_observation_space(space)


def test_images_with_the_channels_first_are_told_the_right_order() -> None:
    with pytest.raises(ValueError, match=r"channel-first; expected .*here \(42, 42, 4\)"):
        check_observation_space(box(4, 42, 42))


@pytest.mark.parametrize("space", IMAGES, ids=str)
def test_the_shape_of_images(space: gym.spaces.Box) -> None:
    assert image_shape(space) == space.shape


@pytest.mark.parametrize("space", OTHERS, ids=str)
def test_what_is_no_image_has_no_shape_of_one(space: gym.Space) -> None:
    with pytest.raises(ValueError, match=r"expected a Box of images, shape \(H, W, C\)"):
        image_shape(space)


@pytest.mark.parametrize(
    ("space", "size"),
    [
        (gym.spaces.Discrete(5), 5),
        (gym.spaces.Box(-1.0, 1.0, (4,)), 4),
        (gym.spaces.Box(-np.inf, np.inf, (2, 3), np.float64), 6),
        (gym.spaces.Box(-1.0, 1.0, ()), 1),
    ],
    ids=str,
)
def test_actions_that_are_supported(space: gym.Space, size: int) -> None:
    check_action_space(space)
    assert num_actions(space) == size


@pytest.mark.parametrize(
    ("space", "told"),
    [
        (gym.spaces.Discrete(5, start=1), r"Discrete\(5, start=1\)"),
        (gym.spaces.MultiDiscrete([2, 3]), r"MultiDiscrete\(\[2 3\]\)"),
        (gym.spaces.MultiBinary(3), r"MultiBinary\(3\)"),
        (gym.spaces.Dict(a=gym.spaces.Discrete(2)), "Dict"),
    ],
)
def test_other_actions_are_refused_and_what_is_supported_told(space: gym.Space, told: str) -> None:
    message = f"{told}.* not supported, expected a Discrete counted from 0 or a Box"
    for refuse in (check_action_space, num_actions):
        with pytest.raises(ValueError, match=message):
            refuse(space)


@pytest.mark.parametrize("space", IMAGES + OTHERS + [gym.spaces.Box(-1.0, 1.0, ())], ids=str)
def test_flattens_a_batch_as_gymnasium_does_one_sample(space: gym.Space) -> None:
    space.seed(0)
    samples = [[space.sample() for _ in range(B)] for _ in range(T)]
    expected = [[gym.spaces.flatten(space, sample) for sample in row] for row in samples]

    vectors = flatten(torch.from_numpy(np.array(samples)), space)
    assert vectors.dtype == torch.float32
    np.testing.assert_array_equal(vectors, np.array(expected, dtype=np.float32))
