"""The layers of the paper's networks, initialised as in the authors' released code.

Source: RIDE (ICLR 2020), appendix "Network Architectures". The text leaves open the initialisation
and, for grids, the width of the last convolution; both follow the released code.
"""

from __future__ import annotations

import math
from typing import TypeVar

import torch
from torch import Tensor, nn

Layer = TypeVar("Layer", nn.Conv2d, nn.Linear)

# Filters of each convolution. A MiniGrid view is a few cells wide, a rendered frame many pixels.
GRID_FILTERS = (32, 32, 128)
POLICY_GRID_FILTERS = (32, 32, 32)
PIXEL_FILTERS = (32, 32, 32, 32)
SMALLEST_PIXEL_IMAGE = 32

HIDDEN_SIZE = 256


class Convolutions(nn.Sequential):
    """Convolutions over an image, 3x3, stride 2, padding 1, each followed by ELU.

    Args:
        image_shape: (H, W, C).
        grid_filters: filters of each convolution if both sides are under 32 cells. Larger images
            get 4 convolutions of 32 filters.

    Attributes:
        is_grid: whether both sides are under 32, as of a grid of cells.
        num_features: D, the size of the flattened output.
    """

    def __init__(
        self,
        image_shape: tuple[int, int, int],
        grid_filters: tuple[int, ...] = GRID_FILTERS,
    ) -> None:
        super().__init__()
        self.image_shape = image_shape
        height, width, channels = image_shape

        self.is_grid = max(height, width) < SMALLEST_PIXEL_IMAGE
        filters = grid_filters if self.is_grid else PIXEL_FILTERS
        for n_in, n_out in zip((channels, *filters), filters, strict=False):
            conv = HalvingConv2d(n_in, n_out, kernel_size=3, stride=2, padding=1)
            self.append(orthogonal(conv, gain=nn.init.calculate_gain("relu")))
            self.append(nn.ELU())
            height, width = math.ceil(height / 2), math.ceil(width / 2)
        self.num_features = filters[-1] * height * width

    def forward(self, images: Tensor) -> Tensor:
        """Floating-point images [..., H, W, C] -> [..., D]."""
        leading = images.shape[:-3]
        images = images.reshape(-1, *self.image_shape)  # [N, H, W, C]
        # Swapping axes 1 and 3, as the authors do, also exchanges height and width.
        images = images.transpose(1, 3)  # [N, C, W, H]
        # This memory layout halves the time of a learner step on pixels (CPU); values are the same.
        images = images.contiguous(memory_format=torch.channels_last)
        features: Tensor = super().forward(images)  # [N, filters, W', H']
        return features.reshape(*leading, self.num_features)  # [..., D]


class HalvingConv2d(nn.Conv2d):
    """A 3x3 convolution with stride 2 and padding 1, with a faster path for 2x2 inputs.

    On a 2x2 input, five of the nine weights meet only padding and the other four form a linear
    layer. This saves a fifth of the embedding's training step on MiniGrid (CPU).
    """

    def forward(self, x: Tensor) -> Tensor:
        """[N, n_in, W, H] -> [N, n_out, W / 2, H / 2]."""
        if x.shape[-2:] != (2, 2):
            return super().forward(x)
        weight = self.weight[:, :, 1:, 1:].permute(0, 2, 3, 1).flatten(1)  # [n_out, 4 n_in]
        cells = x.permute(0, 2, 3, 1).flatten(1)  # [N, 4 n_in]
        return nn.functional.linear(cells, weight, self.bias)[:, :, None, None]


def hidden_layer(num_inputs: int) -> nn.Linear:
    """A linear layer of 256 units, to be followed by ReLU or ELU."""
    return orthogonal(nn.Linear(num_inputs, HIDDEN_SIZE), gain=nn.init.calculate_gain("relu"))


def output_layer(num_outputs: int) -> nn.Linear:
    """A linear layer from a hidden layer to unbounded outputs."""
    return orthogonal(nn.Linear(HIDDEN_SIZE, num_outputs), gain=1.0)


def orthogonal(layer: Layer, gain: float) -> Layer:
    """Initialises a layer in place: orthogonal weights times `gain`, biases zero."""
    nn.init.orthogonal_(layer.weight, gain)
    if layer.bias is not None:
        nn.init.zeros_(layer.bias)
    return layer
