"""The paper's policy network: its sizes, and rows of unequal length in one batch."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
import pytest
import torch
from ray.rllib.core.columns import Columns

from rllib_ride.rllib.policy import RecurrentPolicy

GRID = gym.spaces.Box(0, 255, (7, 7, 3), np.uint8)
PIXELS = gym.spaces.Box(0, 255, (42, 42, 4), np.uint8)


def policy(
    network: str = "paper", space: gym.Space = GRID, num_actions: int = 5
) -> RecurrentPolicy:
    torch.manual_seed(0)
    return RecurrentPolicy(
        observation_space=space,
        action_space=gym.spaces.Discrete(num_actions),
        model_config={"network": network},
    )


@pytest.mark.parametrize(
    ("network", "space", "features", "units", "layers"),
    [
        ("paper", GRID, 32, 256, 1),
        ("paper", PIXELS, 288, 256, 1),
        ("released", GRID, 1024, 1024, 2),
        ("released", PIXELS, 288, 256, 2),
    ],
)
def test_sizes(network: str, space: gym.Space, features: int, units: int, layers: int) -> None:
    module = policy(network, space)
    assert (module.network.lstm[0].input_size, module.network.lstm[0].hidden_size) == (
        features,
        units,
    )
    assert {key: tuple(value.shape) for key, value in module.get_initial_state().items()} == {
        "h": (layers, units),
        "c": (layers, units),
    }


@pytest.mark.parametrize("network", ["paper", "released"])
def test_a_padded_batch_equals_its_rows_one_by_one(network: str) -> None:
    module = policy(network)
    lengths = [3, 7, 1, 5]
    obs = torch.randint(0, 11, (4, 7, *GRID.shape), dtype=torch.uint8)
    state = {key: torch.randn(4, *value.shape) for key, value in module.get_initial_state().items()}
    out = module.forward_train(
        {Columns.OBS: obs, Columns.STATE_IN: state, Columns.SEQ_LENS: torch.tensor(lengths)}
    )
    values = module.compute_values({}, embeddings=out[Columns.EMBEDDINGS])
    assert out[Columns.ACTION_DIST_INPUTS].shape == (4, 7, 5)
    for row, length in enumerate(lengths):
        alone = {
            Columns.OBS: obs[row : row + 1, :length],
            Columns.STATE_IN: {key: value[row : row + 1] for key, value in state.items()},
        }
        expected = module.forward_train(alone)
        torch.testing.assert_close(
            out[Columns.ACTION_DIST_INPUTS][row : row + 1, :length],
            expected[Columns.ACTION_DIST_INPUTS],
        )
        torch.testing.assert_close(values[row : row + 1, :length], module.compute_values(alone))
        assert (out[Columns.ACTION_DIST_INPUTS][row, length:] == 0).all()
        assert (values[row, length:] == 0).all()
        for key in ("h", "c"):
            torch.testing.assert_close(
                out[Columns.STATE_OUT][key][row], expected[Columns.STATE_OUT][key][0]
            )


@pytest.mark.parametrize(
    ("network", "sizes", "layers"), [("paper", (32, 256), 1), ("released", (1024, 1024), 2)]
)
def test_the_cells_equal_torchs_lstm(network: str, sizes: tuple[int, int], layers: int) -> None:
    module = policy(network)
    lstm = torch.nn.LSTM(*sizes, num_layers=layers, batch_first=True)
    lstm.load_state_dict(
        {
            f"{key}_l{layer}": value
            for layer, cell in enumerate(module.network.lstm)
            for key, value in cell.state_dict().items()
        }
    )
    obs = torch.randint(0, 11, (2, 6, *GRID.shape), dtype=torch.uint8)
    state = {key: torch.randn(2, *v.shape) for key, v in module.get_initial_state().items()}
    out = module.forward_train({Columns.OBS: obs, Columns.STATE_IN: state})
    features = module.network.fully_connected(module.network.embedding(obs))
    expected, _ = lstm(
        features, tuple(state[key].transpose(0, 1).contiguous() for key in ("h", "c"))
    )
    outputs = out[Columns.EMBEDDINGS]
    torch.testing.assert_close(outputs.in_rows(outputs.steps), expected)


def test_refuses_what_it_cannot_do() -> None:
    with pytest.raises(ValueError, match="network='resnet' is unknown"):
        policy("resnet")
    with pytest.raises(ValueError, match="Discrete is"):
        RecurrentPolicy(
            observation_space=GRID, action_space=gym.spaces.Box(-1, 1, (2,)), model_config={}
        )
