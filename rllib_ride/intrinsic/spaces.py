"""What an observation or action space must look like for the networks to be built on it."""

from __future__ import annotations

import gymnasium as gym
import numpy as np


def image_shape(observation_space: gym.Space) -> tuple[int, int, int]:
    """The (H, W, C) of a channel-last uint8 image space.

    Raises:
        ValueError: the space is something else; the message says what and what would be right.
    """
    wanted = "a Box of uint8 images, shape (H, W, C) with the channels last"
    if isinstance(observation_space, gym.spaces.Dict):
        raise ValueError(
            f"observation space has keys {sorted(observation_space)}; the intrinsic networks read "
            f"one of them: {wanted}"
        )
    if not isinstance(observation_space, gym.spaces.Box):
        raise ValueError(f"observation space {observation_space} is not supported, want {wanted}")
    if len(observation_space.shape) != 3 or observation_space.dtype != np.uint8:
        raise ValueError(
            f"observation space has shape {observation_space.shape} and dtype "
            f"{observation_space.dtype}, want {wanted}"
        )
    height, width, channels = observation_space.shape
    if height < width == channels:
        raise ValueError(
            f"observation space has shape {observation_space.shape}, which looks channel-first; "
            f"want {wanted}, here ({width}, {channels}, {height})"
        )
    return height, width, channels


def num_actions(action_space: gym.Space) -> int:
    """The number of actions of a Discrete space counted from 0.

    Raises:
        ValueError: the space is something else.
    """
    if not isinstance(action_space, gym.spaces.Discrete) or action_space.start != 0:
        raise ValueError(
            f"action space {action_space} is not supported, want a Discrete counted from 0"
        )
    return int(action_space.n)
