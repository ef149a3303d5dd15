"""The networks of the paper: state embedding, forward model and inverse model.

Source: RIDE (ICLR 2020), sections 3 and 4 and appendix "Network Architectures". Layer widths of the
embedding's last convolution, of both models and the initialisation are those of the authors'
released code; the text leaves them open.
"""

from __future__ import annotations

import math
from typing import TypeVar

import gymnasium as gym
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from rllib_ride.intrinsic.spaces import image_shape

Layer = TypeVar("Layer", nn.Conv2d, nn.Linear)

HIDDEN_SIZE = 256

# Filters of each convolution. A MiniGrid view is a few cells wide, a rendered frame many pixels.
GRID_FILTERS = (32, 32, 128)
PIXEL_FILTERS = (32, 32, 32, 32)
SMALLEST_PIXEL_IMAGE = 32


class ConvStack(nn.Module):
    """Convolutions over an image, 3x3, stride 2, padding 1, each followed by ELU.

    Args:
        observation_space: Box of uint8 images, (H, W, C).
        grid_filters: filters of each convolution where both sides are under 32 cells.
        pixel_filters: the same for larger images.

    Attributes:
        is_grid: whether the image is small enough to be a grid of cells.
        num_features: D, the size of the flattened output.

    Raises:
        ValueError: the observation space is not such an image.
    """

    def __init__(
        self,
        observation_space: gym.Space,
        grid_filters: tuple[int, ...],
        pixel_filters: tuple[int, ...] = PIXEL_FILTERS,
    ) -> None:
        super().__init__()
        self.image_shape = image_shape(observation_space)
        height, width, channels = self.image_shape

        self.is_grid = max(height, width) < SMALLEST_PIXEL_IMAGE
        filters = grid_filters if self.is_grid else pixel_filters
        layers: list[nn.Module] = []
        for n_in, n_out in zip((channels, *filters), filters, strict=False):
            conv = nn.Conv2d(n_in, n_out, kernel_size=3, stride=2, padding=1)
            layers += [orthogonal(conv, gain=nn.init.calculate_gain("relu")), nn.ELU()]
            height, width = math.ceil(height / 2), math.ceil(width / 2)
        self.convolutions = nn.Sequential(*layers)
        self.num_features = filters[-1] * height * width

    def forward(self, images: Tensor) -> Tensor:
        """Floating-point images [..., H, W, C] -> [..., D]."""
        leading = images.shape[:-3]
        images = images.reshape(-1, *self.image_shape)  # [N, H, W, C]
        # The authors swap axes 1 and 3, so that height and width change places as well.
        images = images.transpose(1, 3)  # [N, C, W, H]
        # This memory layout halves the time of a learner step on pixels (CPU); values are the same.
        images = images.contiguous(memory_format=torch.channels_last)
        features: Tensor = self.convolutions(images)  # [N, filters, W', H']
        return features.reshape(*leading, self.num_features)  # [..., D]


class Embedding(ConvStack):
    """The state embedding phi = f_emb(s), from images to vectors.

    Grids (MiniGrid's 7x7x3 gives D = 128) get 3 convolutions of 32, 32 and 128 filters; larger
    images (42x42x4 gives D = 288) get 4 of 32.

    Args:
        observation_space: Box of uint8 images, (H, W, C).
    """

    def __init__(self, observation_space: gym.Space) -> None:
        super().__init__(observation_space, GRID_FILTERS)

    def forward(self, obs: Tensor) -> Tensor:
        """Embeds images: [..., H, W, C], values 0 to 255 of any dtype -> [..., D] float32."""
        return super().forward(obs.float() / 255.0)


class ForwardModel(nn.Module):
    """Predicts the next state's embedding: phi_hat(s_{t+1}) = f_fw(phi(s_t), a_t).

    Args:
        num_features: D, the size of phi.
        num_actions: A.
    """

    def __init__(self, num_features: int, num_actions: int) -> None:
        super().__init__()
        self.num_actions = num_actions
        self.hidden = _hidden_layer(num_features + num_actions)
        self.out = _output_layer(num_features)

    def forward(self, phi: Tensor, actions: Tensor) -> Tensor:
        """[..., D], [...] integers from 0 to A - 1 -> [..., D]."""
        one_hot = F.one_hot(actions.long(), self.num_actions).to(phi.dtype)  # [..., A]
        hidden = torch.relu(self.hidden(torch.cat((phi, one_hot), dim=-1)))  # [..., 256]
        prediction: Tensor = self.out(hidden)  # [..., D]
        return prediction


class InverseModel(nn.Module):
    """Tells which action was taken between two states: a_hat_t = f_inv(phi(s_t), phi(s_{t+1})).

    Args:
        num_features: D, the size of phi.
        num_actions: A.
    """

    def __init__(self, num_features: int, num_actions: int) -> None:
        super().__init__()
        self.hidden = _hidden_layer(2 * num_features)
        self.out = _output_layer(num_actions)

    def forward(self, phi: Tensor, phi_next: Tensor) -> Tensor:
        """[..., D], [..., D] -> [..., A], one logit an action."""
        hidden = torch.relu(self.hidden(torch.cat((phi, phi_next), dim=-1)))  # [..., 256]
        logits: Tensor = self.out(hidden)  # [..., A]
        return logits


def _hidden_layer(num_inputs: int) -> nn.Linear:
    return orthogonal(nn.Linear(num_inputs, HIDDEN_SIZE), gain=nn.init.calculate_gain("relu"))


def _output_layer(num_outputs: int) -> nn.Linear:
    return orthogonal(nn.Linear(HIDDEN_SIZE, num_outputs), gain=1.0)


def orthogonal(layer: Layer, gain: float) -> Layer:
    """Initialises a layer in place: orthogonal weights times `gain`, biases zero."""
    nn.init.orthogonal_(layer.weight, gain)
    if layer.bias is not None:
        nn.init.zeros_(layer.bias)
    return layer
