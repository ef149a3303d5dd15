from __future__ import annotations

import gymnasium as gym
import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import nn

from rllib_ride.intrinsic import Embedding, ForwardModel, InverseModel


def images(*shape: int) -> gym.spaces.Box:
    return gym.spaces.Box(0, 255, shape, np.uint8)


@pytest.mark.parametrize(
    ("shape", "filters", "num_features"),
    [
        ((7, 7, 3), [32, 32, 128], 128),
        ((42, 42, 4), [32, 32, 32, 32], 288),
        ((9, 5, 3), [32, 32, 128], 128 * 2 * 1),
        ((25, 25, 3), [32, 32, 128], 128 * 4 * 4),
    ],
)
def test_embedding_of(shape: tuple[int, ...], filters: list[int], num_features: int) -> None:
    embedding = Embedding(images(*shape))
    convolutions = [layer for layer in embedding.modules() if isinstance(layer, nn.Conv2d)]
    assert [conv.out_channels for conv in convolutions] == filters
    assert embedding.num_features == num_features

    obs = torch.randint(0, 256, (2, 3, *shape), dtype=torch.uint8)  # [T, B, H, W, C]
    phi = embedding(obs)
    assert phi.shape == (2, 3, num_features) and phi.dtype == torch.float32
    assert phi.isfinite().all()
    torch.testing.assert_close(embedding(obs[1, 2]), phi[1, 2])
    assert phi.unique(dim=1).shape == phi.shape  # no sequence got another's


def test_embedding_is_the_convolutions_of_the_notes() -> None:
    """A NumPy convolution over [H, W, C] with axes 1 and 3 swapped, on an image that is no square.

    Height and width differ, so that swapping them shows.
    """
    embedding = Embedding(images(7, 4, 3))
    obs = np.random.default_rng(0).integers(0, 256, size=(7, 4, 3), dtype=np.uint8)
    x = obs.transpose(2, 1, 0) / 255.0  # [C, W, H]
    for conv in (layer for layer in embedding.modules() if isinstance(layer, nn.Conv2d)):
        assert conv.bias is not None
        weight, bias = conv.weight.detach().numpy(), conv.bias.detach().numpy()
        x = elu(convolve(x, weight) + bias[:, None, None])
    phi = embedding(torch.from_numpy(obs)).detach().numpy()
    np.testing.assert_allclose(phi, x.reshape(-1), rtol=1e-4, atol=1e-6)


def convolve(x: NDArray, kernels: NDArray) -> NDArray:
    """3x3, stride 2, padding 1: [C, I, J] -> [C', ceil(I / 2), ceil(J / 2)]."""
    padded = np.pad(x, ((0, 0), (1, 1), (1, 1)))
    rows, columns = range(0, x.shape[1], 2), range(0, x.shape[2], 2)
    return np.array(
        [
            [[np.sum(kernel * padded[:, i : i + 3, j : j + 3]) for j in columns] for i in rows]
            for kernel in kernels
        ]
    )


def elu(x: NDArray) -> NDArray:
    return np.where(x > 0, x, np.exp(np.minimum(x, 0)) - 1)


def test_forward_model_reads_the_action() -> None:
    model = ForwardModel(num_features=5, num_actions=3)
    phi, actions = torch.randn(4, 2, 5), torch.tensor([[0, 1], [2, 0], [1, 1], [2, 2]])

    x = torch.cat((phi, torch.eye(3)[actions]), dim=-1)
    expected = model.out(torch.clamp(model.hidden(x), min=0))
    torch.testing.assert_close(model(phi, actions), expected)
    assert expected.shape == (4, 2, 5)
    assert (model(phi, (actions + 1) % 3) != expected).any(dim=-1).all()


def test_inverse_model_reads_both_states_in_order() -> None:
    model = InverseModel(num_features=5, num_actions=3)
    phi, phi_next = torch.randn(2, 4, 2, 5)

    expected = model.out(torch.clamp(model.hidden(torch.cat((phi, phi_next), dim=-1)), min=0))
    torch.testing.assert_close(model(phi, phi_next), expected)
    assert expected.shape == (4, 2, 3)


def test_initialisation_is_orthogonal_with_zero_biases() -> None:
    relu = np.sqrt(2.0)
    forward_model, inverse_model = ForwardModel(8, 3), InverseModel(8, 3)
    convolutions = [m for m in Embedding(images(7, 7, 3)).modules() if isinstance(m, nn.Conv2d)]
    gains = [
        *((conv, relu) for conv in convolutions),
        (forward_model.hidden, relu),
        (forward_model.out, 1.0),
        (inverse_model.hidden, relu),
        (inverse_model.out, 1.0),
    ]
    for layer, gain in gains:
        assert layer.bias is not None and not layer.bias.any()
        singular_values = torch.linalg.svdvals(layer.weight.flatten(1))
        torch.testing.assert_close(singular_values, torch.full_like(singular_values, gain))


@pytest.mark.parametrize(
    ("space", "told"),
    [
        (gym.spaces.Dict(image=images(7, 7, 3), mission=gym.spaces.Discrete(2)), "image"),
        (gym.spaces.Discrete(5), r"Discrete\(5\)"),
        (images(7, 7), r"\(7, 7\)"),
        (gym.spaces.Box(0.0, 1.0, (7, 7, 3), np.float32), "float32"),
        (images(4, 42, 42), r"channel-first.*\(42, 42, 4\)"),
    ],
)
def test_an_unsupported_observation_space_is_told(space: gym.Space, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        Embedding(space)
