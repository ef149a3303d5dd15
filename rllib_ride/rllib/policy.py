"""The paper's policy network as an RLModule."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium as gym
import torch
from ray.rllib.core.columns import Columns
from ray.rllib.core.learner.utils import make_target_network
from ray.rllib.core.rl_module.apis import (
    TARGET_NETWORK_ACTION_DIST_INPUTS,
    InferenceOnlyAPI,
    TargetNetworkAPI,
    ValueFunctionAPI,
)
from ray.rllib.core.rl_module.torch.torch_rl_module import TorchRLModule
from torch import Tensor, nn

from rllib_ride.intrinsic.networks import PolicyEmbedding, orthogonal

IMAGE = "image"
"""Entry of a Dict observation that the policy sees, as MiniGrid calls it."""

ACTION_MASK = "action_mask"
"""Entry of a Dict observation that says which actions are allowed, as RLlib's examples call it."""


class RecurrentPolicy(TorchRLModule, InferenceOnlyAPI, TargetNetworkAPI, ValueFunctionAPI):
    """Convolutions, LSTM, linear policy and value heads (paper, appendix A.1).

    `model_config["network"]` chooses between the text and the authors' code:

    - `"paper"`: 3 convolutions (MiniGrid) or 4 (pixels) of 32 filters, an LSTM of 256 units.
    - `"released"`: for MiniGrid two fully connected layers of 1024 in between and a two-layer
      LSTM of 1024; for pixels a two-layer LSTM of 256.

    Observations are images `[B, T, H, W, C]`, not divided by 255 (the embedding's are), or a dict
    with an `image`, of which an `action_mask` `[B, T, A]` is read too: where it is 0 an action is
    never taken. The state is `{"h", "c"}`, each `[B, layers, units]`. In training a batch may
    carry `seq_lens` `[B]`: only that many steps of each row are computed, the rest of its outputs
    is zero.
    """

    def setup(self) -> None:
        """Builds the network for the spaces of this module."""
        network = self.model_config.get("network", "paper")
        if network not in ("paper", "released"):
            raise ValueError(f"network={network!r} is unknown; use 'paper' or 'released'")
        if not isinstance(self.action_space, gym.spaces.Discrete):
            raise ValueError(
                f"action space {self.action_space} is not supported by the policy network; "
                "Discrete is"
            )
        space: Any = self.observation_space
        image = space[IMAGE] if isinstance(space, gym.spaces.Dict) else space
        self.network = PolicyNetwork(
            image, int(self.action_space.n), is_released=network == "released"
        )

    def get_initial_state(self) -> dict[str, Tensor]:
        """Zeros, `[layers, units]` each."""
        return self.network.initial_state()

    def train(self, mode: bool = True) -> RecurrentPolicy:
        """As PyTorch's, but at once where nothing changes: RLlib calls it before every step."""
        return self if mode == self.training else super().train(mode)

    def get_non_inference_attributes(self) -> list[str]:
        """APPO's copy stays on the Learner."""
        return ["target_network"]

    def make_target_networks(self) -> None:
        """For APPO: a copy of the whole network, values included."""
        self.target_network = make_target_network(self.network)

    def get_target_network_pairs(self) -> list[tuple[nn.Module, nn.Module]]:
        """The network and its copy."""
        return [(self.network, self.target_network)]

    def forward_target(self, batch: dict[str, Any]) -> dict[str, Any]:
        """The copy's logits."""
        outputs, _ = self.target_network(batch)
        return {TARGET_NETWORK_ACTION_DIST_INPUTS: self.target_network.logits(outputs, batch)}

    def _forward(self, batch: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
        outputs, state_out = self.network(batch)
        return {
            Columns.ACTION_DIST_INPUTS: self.network.logits(outputs, batch),
            Columns.STATE_OUT: state_out,
        }

    def _forward_train(self, batch: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
        outputs, state_out = self.network(batch)
        return {
            Columns.ACTION_DIST_INPUTS: self.network.logits(outputs, batch),
            Columns.STATE_OUT: state_out,
            Columns.EMBEDDINGS: outputs,
        }

    def compute_values(self, batch: dict[str, Any], embeddings: Tensor | None = None) -> Tensor:
        """State values, `[B, T]`."""
        if embeddings is None:
            embeddings, _ = self.network(batch)
        return self.network.value_head(embeddings).squeeze(-1)


class PolicyNetwork(nn.Module):
    """The layers of `RecurrentPolicy`.

    Args:
        image_space: Box of uint8 images, (H, W, C).
        num_actions: A.
        is_released: Whether the network is the authors' code's rather than the text's.
    """

    def __init__(self, image_space: gym.Space, num_actions: int, *, is_released: bool) -> None:
        super().__init__()
        self.embedding = PolicyEmbedding(image_space)
        features = self.embedding.num_features
        self.fully_connected: nn.Module = nn.Identity()
        units, layers = 256, 1
        if is_released:
            layers = 2
            if self.embedding.is_grid:
                units = 1024
                gain = nn.init.calculate_gain("relu")
                self.fully_connected = nn.Sequential(
                    *(orthogonal(nn.Linear(features, units), gain), nn.ReLU()),
                    *(orthogonal(nn.Linear(units, units), gain), nn.ReLU()),
                )
                features = units
        self.lstm = nn.ModuleList(
            nn.LSTMCell(features if layer == 0 else units, units) for layer in range(layers)
        )
        self.policy_head = orthogonal(nn.Linear(units, num_actions), gain=1.0)
        self.value_head = orthogonal(nn.Linear(units, 1), gain=1.0)

    def initial_state(self) -> dict[str, Tensor]:
        """Zeros, `[layers, units]` each."""
        shape = (len(self.lstm), self.policy_head.in_features)
        return {"h": torch.zeros(shape), "c": torch.zeros(shape)}

    def logits(self, outputs: Tensor, batch: dict[str, Any]) -> Tensor:
        """Of the actions, `[B, T, A]`, from the LSTM's outputs."""
        logits: Tensor = self.policy_head(outputs)
        obs = batch[Columns.OBS]
        if isinstance(obs, Mapping) and ACTION_MASK in obs:
            forbidden = (obs[ACTION_MASK] == 0) & (obs[ACTION_MASK] != 0).any(-1, keepdim=True)
            logits = logits.masked_fill(forbidden, torch.finfo(logits.dtype).min)
        return logits

    def forward(self, batch: dict[str, Any]) -> tuple[Tensor, dict[str, Tensor]]:
        """LSTM outputs `[B, T, units]` and the state after the last step of each row."""
        obs = batch[Columns.OBS]
        images = obs[IMAGE] if isinstance(obs, Mapping) else obs  # [B, T, H, W, C]
        images = images.transpose(0, 1)  # [T, B, ...]
        state = batch[Columns.STATE_IN]
        h, c = state["h"].unbind(1), state["c"].unbind(1)  # of each layer, [B, units]
        lengths = batch.get(Columns.SEQ_LENS)
        if lengths is None:
            outputs, h, c = self._run(images.flatten(0, 1), [images.shape[1]] * len(images), h, c)
            outputs = outputs.view(*images.shape[:2], -1)  # [T, B, units]
        else:
            outputs, h, c = self._run_rows(images, lengths, h, c)
        return outputs.transpose(0, 1), {"h": torch.stack(h, dim=1), "c": torch.stack(c, dim=1)}

    def _run_rows(
        self, images: Tensor, lengths: Tensor, h: Sequence[Tensor], c: Sequence[Tensor]
    ) -> tuple[Tensor, list[Tensor], list[Tensor]]:
        """Rows that end where their episode ends: what lies beyond would be a third of the work.

        With the longest rows first, the rows still running at a step are a prefix.
        """
        num_steps, num_rows = images.shape[:2]
        order = torch.argsort(lengths, descending=True, stable=True)
        back = torch.argsort(order)
        running = torch.arange(num_steps, device=images.device)[:, None] < lengths[order]  # [T, B]
        # Where the longest row ends before T, no row is left.
        rows_left = [rows for rows in running.sum(dim=1).tolist() if rows]
        outputs, h, c = self._run(
            images[:, order][running], rows_left, [x[order] for x in h], [x[order] for x in c]
        )
        padded = outputs.new_zeros(num_steps, num_rows, outputs.shape[-1])
        padded[running] = outputs
        return padded[:, back], [x[back] for x in h], [x[back] for x in c]

    def _run(
        self,
        images: Tensor,
        rows_left: Sequence[int],
        h: Sequence[Tensor],
        c: Sequence[Tensor],
    ) -> tuple[Tensor, list[Tensor], list[Tensor]]:
        """Time-major steps through all layers.

        Args:
            images: `[steps of all rows, H, W, C]`: the first step of each row, the second ...
            rows_left: How many rows, the first ones, have each of these steps.
            h: Of each layer, `[B, units]`.
            c: The same.

        Returns:
            `[steps of all rows, units]`, and h and c of each layer after the last step of each row.
        """
        steps = self.fully_connected(self.embedding(images)).split(rows_left)
        last_h, last_c = [], []
        for cell, h_row, c_row in zip(self.lstm, h, c, strict=True):
            outputs, ended_h, ended_c = [], [], []
            for step in steps:  # [rows left, D]
                if len(step) < len(h_row):
                    ended_h.append(h_row[len(step) :])
                    ended_c.append(c_row[len(step) :])
                    h_row, c_row = h_row[: len(step)], c_row[: len(step)]
                h_row, c_row = cell(step, (h_row, c_row))
                outputs.append(h_row)
            steps = outputs
            last_h.append(torch.cat([h_row, *reversed(ended_h)]))
            last_c.append(torch.cat([c_row, *reversed(ended_c)]))
        return torch.cat(steps), last_h, last_c
