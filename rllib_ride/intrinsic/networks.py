"""The networks of the paper: state embedding, forward model and inverse model.

Source: RIDE (ICLR 2020), sections 3 and 4 and appendix "Network Architectures"; the width of the
models' hidden layer is that of the authors' released code. The paper covers images and discrete
actions; the networks for other spaces are this package's own.
"""

from __future__ import annotations

import gymnasium as gym
import torch
from torch import Tensor, nn

from rllib_ride.intrinsic import losses
from rllib_ride.intrinsic.layers import (
    HIDDEN_SIZE,
    POLICY_GRID_FILTERS,
    Convolutions,
    hidden_layer,
    orthogonal,
    output_layer,
)
from rllib_ride.intrinsic.spaces import (
    check_observation_space,
    flatten,
    image_shape,
    is_bytes,
    is_image,
    num_actions,
)

VECTOR_FEATURES = 128  # as for a MiniGrid view in the paper


class PolicyEmbedding(nn.Module):
    """The convolutions of the paper's policy: 3x3, stride 2, padding 1, 32 filters, ELU.

    Grids (both sides under 32 cells) get 3 convolutions, larger images 4. Unlike `Embedding`, it
    does not divide its input by 255.

    Args:
        observation_space: Box of images, (H, W, C).

    Attributes:
        is_grid: whether the image is small enough to be a grid of cells.
        num_features: D, the size of the flattened output.

    Raises:
        ValueError: the observation space is not such an image.
    """

    def __init__(self, observation_space: gym.Space) -> None:
        super().__init__()
        self.convolutions = Convolutions(image_shape(observation_space), POLICY_GRID_FILTERS)
        self.is_grid = self.convolutions.is_grid
        self.num_features = self.convolutions.num_features

    def forward(self, images: Tensor) -> Tensor:
        """Embeds images: [..., H, W, C] of any dtype -> [..., D] float32."""
        features: Tensor = self.convolutions(images.float())
        return features


class Embedding(nn.Module):
    """The state embedding phi = f_emb(s), from observations to vectors.

    | observations | layers, each followed by ELU | D |
    |---|---|---|
    | images, both sides under 32 cells | 3 convolutions of 32, 32, 128 filters | 7x7x3: 128 |
    | larger images | 4 convolutions of 32 filters | 42x42x4: 288 |
    | Box (n,) or (n, m), Discrete | fully connected, 256 and 128 units | 128 |

    Observations of a uint8 Box are divided by 255; all others are used as they are. Scale those far
    outside [-1, 1] yourself, for example with `gymnasium.wrappers.RescaleObservation`.

    Args:
        observation_space: a space in the table.

    Attributes:
        num_features: D, the size of phi.

    Raises:
        ValueError: the space is of another kind.
    """

    def __init__(self, observation_space: gym.Space) -> None:
        super().__init__()
        check_observation_space(observation_space)
        self.observation_space = observation_space
        # Decided by the space, not the tensor: uint8 observations may arrive as floats.
        self.divisor = 255.0 if is_bytes(observation_space) else 1.0
        self.is_image = is_image(observation_space)
        if self.is_image:
            self.convolutions = Convolutions(image_shape(observation_space))
            self.num_features = self.convolutions.num_features
        else:
            gain = nn.init.calculate_gain("relu")
            self.fully_connected = nn.Sequential(
                hidden_layer(int(gym.spaces.flatdim(observation_space))),
                nn.ELU(),
                orthogonal(nn.Linear(HIDDEN_SIZE, VECTOR_FEATURES), gain),
                nn.ELU(),
            )
            self.num_features = VECTOR_FEATURES

    def forward(self, obs: Tensor) -> Tensor:
        """[..., *observation] of any dtype (integers [...] if Discrete) -> [..., D] float32."""
        phi: Tensor
        if self.is_image:
            phi = self.convolutions(obs.float() / self.divisor)
        else:
            phi = self.fully_connected(flatten(obs, self.observation_space) / self.divisor)
        return phi


class ForwardModel(nn.Module):
    """Predicts the next state's embedding: phi_hat(s_{t+1}) = f_fw(phi(s_t), a_t).

    Args:
        num_features: D, the size of phi.
        action_space: Discrete with `start=0`, or Box.

    Raises:
        ValueError: the action space is something else.
    """

    def __init__(self, num_features: int, action_space: gym.Space) -> None:
        super().__init__()
        self.action_space = action_space
        self.hidden = hidden_layer(num_features + num_actions(action_space))
        self.out = output_layer(num_features)

    def forward(self, phi: Tensor, actions: Tensor) -> Tensor:
        """[..., D], a_t [..., *action] (integers [...] if Discrete) -> [..., D]."""
        a = flatten(actions, self.action_space).to(phi.dtype)  # [..., A]
        hidden = torch.relu(self.hidden(torch.cat((phi, a), dim=-1)))  # [..., 256]
        prediction: Tensor = self.out(hidden)  # [..., D]
        return prediction


class InverseModel(nn.Module):
    """Predicts the action taken between two states: a_hat_t = f_inv(phi(s_t), phi(s_{t+1})).

    Args:
        num_features: D, the size of phi.
        action_space: Discrete with `start=0`, or Box.

    Raises:
        ValueError: the action space is something else.
    """

    def __init__(self, num_features: int, action_space: gym.Space) -> None:
        super().__init__()
        self.action_space = action_space
        self.hidden = hidden_layer(2 * num_features)
        self.out = output_layer(num_actions(action_space))

    def forward(self, phi: Tensor, phi_next: Tensor) -> Tensor:
        """[..., D], [..., D] -> [..., A]: logits of Discrete actions, or a Box action's values."""
        hidden = torch.relu(self.hidden(torch.cat((phi, phi_next), dim=-1)))  # [..., 256]
        prediction: Tensor = self.out(hidden)  # [..., A]
        return prediction

    def error(self, phi: Tensor, phi_next: Tensor, actions: Tensor) -> Tensor:
        """L_inv: cross-entropy for Discrete actions, squared error for Box actions.

        Args:
            phi: phi(s_t), [..., D].
            phi_next: phi(s_{t+1}), [..., D].
            actions: a_t, [..., *action], integers [...] if Discrete.

        Returns:
            [...].
        """
        prediction = self(phi, phi_next)  # [..., A]
        if isinstance(self.action_space, gym.spaces.Discrete):
            return losses.inverse_error(prediction, actions)
        return losses.inverse_squared_error(prediction, flatten(actions, self.action_space))
