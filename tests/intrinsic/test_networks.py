from __future__ import annotations

import functools

import gymnasium as gym
import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import nn

from rllib_ride.intrinsic import Embedding, ForwardModel, InverseModel
from rllib_ride.intrinsic.layers import HalvingConv2d
from rllib_ride.intrinsic.networks import PolicyEmbedding

T, B, D = 4, 2, 5
DISCRETE, BOX = gym.spaces.Discrete(3), gym.spaces.Box(-1.0, 1.0, (2, 3))  # A = 3 and 6


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
    assert phi.unique(dim=1).shape == phi.shape  # sequences are not mixed up


def test_embedding_is_the_convolutions_of_the_notes() -> None:
    """Equals a NumPy convolution over [H, W, C] with height and width swapped.

    The image is not square, so that the swap shows.
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


def layers(network: nn.Module, kind: type) -> list[nn.Module]:
    return [layer for layer in network.modules() if isinstance(layer, kind)]


@pytest.mark.parametrize(
    ("space", "scale"),
    [
        (gym.spaces.Box(-np.inf, np.inf, (7,), np.float64), 1.0),
        (gym.spaces.Box(-1.0, 1.0, (3, 5), np.float32), 1.0),
        (gym.spaces.Box(0, 255, (3, 5), np.uint8), 1 / 255.0),
        (gym.spaces.Box(0, 9, (6,), np.int16), 1.0),
    ],
    ids=["unbounded", "matrix", "bytes", "integers"],
)
def test_vectors_go_through_two_layers_and_only_bytes_are_scaled(
    space: gym.spaces.Box, scale: float
) -> None:
    embedding = Embedding(space)
    obs = np.stack([[space.sample() for _ in range(B)] for _ in range(T)])  # [T, B, ...]
    x = obs.astype(np.float64).reshape(T, B, -1) * scale  # [T, B, n]
    for linear in layers(embedding, nn.Linear):
        x = elu(x @ linear.weight.detach().numpy().T + linear.bias.detach().numpy())

    phi = embedding(torch.from_numpy(obs))
    assert phi.shape == (T, B, embedding.num_features) == (T, B, 128)
    assert phi.dtype == torch.float32
    np.testing.assert_allclose(phi.detach(), x, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(embedding(torch.from_numpy(obs[1, 1])), phi[1, 1])


@pytest.mark.parametrize("start", [0, 10])
def test_a_discrete_state_is_embedded_as_its_row_of_the_one_hot_matrix(start: int) -> None:
    embedding = Embedding(gym.spaces.Discrete(6, start=start))
    obs = np.random.default_rng(0).integers(0, 6, size=(T, B))
    x = np.eye(6)[obs]  # [T, B, 6]
    for linear in layers(embedding, nn.Linear):
        x = elu(x @ linear.weight.detach().numpy().T + linear.bias.detach().numpy())

    phi = embedding(torch.from_numpy(obs + start))
    assert phi.shape == (T, B, embedding.num_features)
    np.testing.assert_allclose(phi.detach(), x, rtol=1e-4, atol=1e-5)


def test_of_images_too_only_bytes_are_scaled() -> None:
    bytes_, floats = Embedding(images(7, 7, 3)), Embedding(gym.spaces.Box(0.0, 1.0, (7, 7, 3)))
    floats.load_state_dict(bytes_.state_dict())
    obs = torch.randint(0, 256, (T, B, 7, 7, 3), dtype=torch.uint8)
    torch.testing.assert_close(floats(obs / 255.0), bytes_(obs))
    torch.testing.assert_close(bytes_(obs.float()), bytes_(obs))  # uint8 converted to float
    assert not torch.allclose(floats(obs.float()), bytes_(obs))


@pytest.mark.parametrize("space", [images(7, 7, 3), gym.spaces.Box(0.0, 1.0, (4,)), DISCRETE])
def test_no_states_have_no_embeddings(space: gym.Space) -> None:
    obs = torch.zeros(0, *space.shape, dtype=torch.uint8)
    embedding = Embedding(space)
    assert embedding(obs).shape == (0, embedding.num_features)


def test_names_of_parameters_are_those_of_checkpoints() -> None:
    convolutions = {f"convolutions.{i}.{kind}" for i in (0, 2, 4) for kind in ("weight", "bias")}
    assert set(Embedding(images(7, 7, 3)).state_dict()) == convolutions
    assert set(PolicyEmbedding(images(7, 7, 3)).state_dict()) == convolutions
    linears = {f"fully_connected.{i}.{kind}" for i in (0, 2) for kind in ("weight", "bias")}
    assert set(Embedding(DISCRETE).state_dict()) == linears
    models = {"hidden.weight", "hidden.bias", "out.weight", "out.bias"}
    assert set(ForwardModel(D, BOX).state_dict()) == models
    assert set(InverseModel(D, BOX).state_dict()) == models


def test_forward_model_reads_the_discrete_action() -> None:
    model = ForwardModel(D, DISCRETE)
    phi, actions = torch.randn(T, B, D), torch.tensor([[0, 1], [2, 0], [1, 1], [2, 2]])

    x = torch.cat((phi, torch.eye(3)[actions]), dim=-1)
    expected = model.out(torch.clamp(model.hidden(x), min=0))
    torch.testing.assert_close(model(phi, actions), expected)
    assert expected.shape == (T, B, D)
    assert (model(phi, (actions + 1) % 3) != expected).any(dim=-1).all()


def test_forward_model_reads_each_number_of_an_action_in_a_box() -> None:
    rng = np.random.default_rng(0)
    model = ForwardModel(D, BOX)
    phi, actions = rng.normal(size=(T, B, D)), rng.normal(size=(T, B, 2, 3))
    hidden, out = (
        (layer.weight.detach().numpy(), layer.bias.detach().numpy())
        for layer in (model.hidden, model.out)
    )
    expected = np.empty((T, B, D))
    for t in range(T):
        for b in range(B):
            x = np.array([*phi[t, b], *actions[t, b, 0], *actions[t, b, 1]])  # [D + A]
            expected[t, b] = out[0] @ np.maximum(hidden[0] @ x + hidden[1], 0) + out[1]

    tensors = torch.from_numpy(phi).float(), torch.from_numpy(actions)
    np.testing.assert_allclose(model(*tensors).detach(), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("action_space", "size"), [(DISCRETE, 3), (BOX, 6)])
def test_inverse_model_reads_both_states_in_order(action_space: gym.Space, size: int) -> None:
    model = InverseModel(D, action_space)
    phi, phi_next = torch.randn(2, T, B, D)

    expected = model.out(torch.clamp(model.hidden(torch.cat((phi, phi_next), dim=-1)), min=0))
    torch.testing.assert_close(model(phi, phi_next), expected)
    assert expected.shape == (T, B, size)


def test_inverse_model_s_error_is_that_of_its_actions() -> None:
    rng = np.random.default_rng(0)
    phi, phi_next = torch.randn(2, T, B, D)

    model, actions = InverseModel(D, DISCRETE), rng.integers(0, 3, size=(T, B))
    p = np.exp(model(phi, phi_next).detach().numpy())  # [T, B, A]
    expected = [
        [-np.log(p[t, b, actions[t, b]] / p[t, b].sum()) for b in range(B)] for t in range(T)
    ]
    error = model.error(phi, phi_next, torch.from_numpy(actions))
    np.testing.assert_allclose(error.detach(), expected, rtol=1e-4)

    model, actions = InverseModel(D, BOX), rng.normal(size=(T, B, 2, 3))
    prediction = model(phi, phi_next).detach().numpy().reshape(T, B, 2, 3)
    expected = ((prediction - actions) ** 2).sum(axis=(-2, -1))  # [T, B]
    error = model.error(phi, phi_next, torch.from_numpy(actions))
    np.testing.assert_allclose(error.detach(), expected, rtol=1e-4)


def test_initialisation_is_orthogonal_with_zero_biases() -> None:
    relu = np.sqrt(2.0)
    forward_model, inverse_model = ForwardModel(8, DISCRETE), InverseModel(8, BOX)
    gains = [
        *((conv, relu) for conv in layers(Embedding(images(7, 7, 3)), nn.Conv2d)),
        *((linear, relu) for linear in layers(Embedding(gym.spaces.Discrete(6)), nn.Linear)),
        (forward_model.hidden, relu),
        (forward_model.out, 1.0),
        (inverse_model.hidden, relu),
        (inverse_model.out, 1.0),
    ]
    for layer, gain in gains:
        assert layer.bias is not None and not layer.bias.any()
        singular_values = torch.linalg.svdvals(layer.weight.flatten(1))
        torch.testing.assert_close(singular_values, torch.full_like(singular_values, gain))


@pytest.mark.parametrize("model", [ForwardModel, InverseModel])
def test_models_refuse_actions_they_cannot_read(model: type) -> None:
    with pytest.raises(
        ValueError, match=r"MultiDiscrete.*expected a Discrete counted from 0 or a Box"
    ):
        model(D, gym.spaces.MultiDiscrete([2, 3]))


def test_embedding_refuses_observations_it_cannot_read() -> None:
    with pytest.raises(ValueError, match=r"MultiBinary\(4\).*or a Discrete"):
        Embedding(gym.spaces.MultiBinary(4))


@pytest.mark.parametrize("side", [1, 2, 3, 4])
def test_a_convolution_of_2x2_cells_is_the_same_as_a_linear_layer(side: int) -> None:
    """Values and gradients equal those of PyTorch's convolution."""
    conv = HalvingConv2d(5, 3, kernel_size=3, stride=2, padding=1)
    found = []
    for forward in (conv, functools.partial(torch.nn.Conv2d.forward, conv)):
        torch.manual_seed(0)
        x = torch.randn(4, 5, side, side).to(memory_format=torch.channels_last).requires_grad_()
        y = forward(x)
        conv.zero_grad()
        (y * torch.randn_like(y)).sum().backward()
        found.append([y, x.grad, *(p.grad.clone() for p in conv.parameters())])
    for ours, theirs in zip(*found, strict=True):
        torch.testing.assert_close(ours, theirs)
