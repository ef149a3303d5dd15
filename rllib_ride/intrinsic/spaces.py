"""The observation and action spaces that the networks support, and their samples as vectors.

| observations | seen by the networks as |
|---|---|
| Box (H, W, C), channels last | images |
| Box (n,) or (n, m) | vectors, flattened |
| Discrete | one-hot vectors |

| actions | seen by the networks as |
|---|---|
| Discrete with `start=0` | one-hot vectors |
| Box of any shape | vectors, flattened |
"""

from __future__ import annotations

import gymnasium as gym
import numpy as np
import torch.nn.functional as F
from torch import Tensor

_OBSERVATIONS = (
    "a Box of images, shape (H, W, C) with the channels last, a Box of shape (n,) or (n, m), "
    "or a Discrete"
)
_ACTIONS = "a Discrete counted from 0 or a Box"


def check_observation_space(observation_space: gym.Space) -> None:
    """Rejects observation spaces that `Embedding` does not support.

    Raises:
        ValueError: the message names the space and the supported ones.
    """
    if isinstance(observation_space, gym.spaces.Discrete):
        return
    if isinstance(observation_space, gym.spaces.Dict):
        raise ValueError(
            f"observation space has keys {sorted(observation_space)}; the intrinsic networks read "
            f"one of them: {_OBSERVATIONS}"
        )
    if not isinstance(observation_space, gym.spaces.Box):
        raise ValueError(
            f"observation space {observation_space} is not supported, expected {_OBSERVATIONS}"
        )
    if len(observation_space.shape) not in (1, 2, 3):
        raise ValueError(
            f"observation space has shape {observation_space.shape}, expected {_OBSERVATIONS}"
        )
    if is_image(observation_space):
        image_shape(observation_space)


def check_action_space(action_space: gym.Space) -> None:
    """Rejects action spaces that the forward and inverse models do not support.

    Raises:
        ValueError: the message names the space and the supported ones.
    """
    counted_from_0 = isinstance(action_space, gym.spaces.Discrete) and action_space.start == 0
    if not (counted_from_0 or isinstance(action_space, gym.spaces.Box)):
        raise ValueError(f"action space {action_space} is not supported, expected {_ACTIONS}")


def is_image(observation_space: gym.Space) -> bool:
    """Whether observations have the three axes of an image, and so go through convolutions."""
    return isinstance(observation_space, gym.spaces.Box) and len(observation_space.shape) == 3


def is_bytes(observation_space: gym.Space) -> bool:
    """Whether observations are uint8, as pixels and the cells of a grid are."""
    return isinstance(observation_space, gym.spaces.Box) and observation_space.dtype == np.uint8


def image_shape(observation_space: gym.Space) -> tuple[int, int, int]:
    """The (H, W, C) of a channel-last image space.

    Raises:
        ValueError: the space is something else; the message names it and what is supported.
    """
    wanted = "a Box of images, shape (H, W, C) with the channels last"
    if not isinstance(observation_space, gym.spaces.Box):
        raise ValueError(
            f"observation space {observation_space} is not supported, expected {wanted}"
        )
    if not is_image(observation_space):
        raise ValueError(
            f"observation space has shape {observation_space.shape}, expected {wanted}"
        )
    height, width, channels = observation_space.shape
    if height < width == channels:
        raise ValueError(
            f"observation space has shape {observation_space.shape}, which looks channel-first; "
            f"expected {wanted}, here ({width}, {channels}, {height})"
        )
    return height, width, channels


def num_actions(action_space: gym.Space) -> int:
    """A, the size of an action as a vector: `n` of a Discrete, the number of values in a Box.

    Raises:
        ValueError: the space is something else.
    """
    check_action_space(action_space)
    return int(gym.spaces.flatdim(action_space))


def flatten(x: Tensor, space: gym.Space) -> Tensor:
    """Flattens samples of a Discrete or Box, each as `gymnasium.spaces.flatten` does.

    Args:
        x: [..., *space.shape], any dtype; integers [...] if Discrete.
        space: the samples' space.

    Returns:
        [..., n] float32, one-hot if the space is Discrete.
    """
    size = int(gym.spaces.flatdim(space))
    if isinstance(space, gym.spaces.Discrete):
        return F.one_hot(x.long() - int(space.start), size).float()  # [..., n]
    assert space.shape is not None, "a Box has a shape"
    leading = x.shape[: x.dim() - len(space.shape)]
    return x.reshape(*leading, size).float()  # [..., n]
