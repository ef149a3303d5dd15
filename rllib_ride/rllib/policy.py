"""The paper's policy network as an RLModule."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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
"""Entry of a Dict observation that the policy sees, named as in MiniGrid."""

ACTION_MASK = "action_mask"
"""Entry of a Dict observation that masks actions, named as in RLlib's examples."""


class RecurrentPolicy(TorchRLModule, InferenceOnlyAPI, TargetNetworkAPI, ValueFunctionAPI):
    """Convolutions, LSTM, linear policy and value heads (paper, appendix A.1).

    `model_config["network"]` chooses between the paper's text and the authors' code:

    - `"paper"`: 3 convolutions (MiniGrid) or 4 (pixels) of 32 filters, an LSTM of 256 units.
    - `"released"`: for MiniGrid two fully connected layers of 1024 in between and a two-layer
      LSTM of 1024; for pixels a two-layer LSTM of 256.

    Observations are images `[B, T, H, W, C]`, not divided by 255 (the intrinsic embedding divides
    its own). They may be in a Dict with the entry `image` and, optionally, `action_mask`
    `[B, T, A]`: an action whose mask is 0 is never taken. The state is `{"h", "c"}`, each
    `[B, layers, units]`. A training batch may have `seq_lens` `[B]`: then only that many steps of
    each row are computed, and the outputs of the others are zero.
    """

    def setup(self) -> None:
        """Builds the network for this module's spaces."""
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
        """As PyTorch's, but returns early if nothing changes: RLlib calls it before every step."""
        return self if mode == self.training else super().train(mode)

    def get_non_inference_attributes(self) -> list[str]:
        """APPO's target network stays on the Learner."""
        return ["target_network"]

    def make_target_networks(self) -> None:
        """For APPO: copies the whole network, including the value head."""
        self.target_network = make_target_network(self.network)

    def get_target_network_pairs(self) -> list[tuple[nn.Module, nn.Module]]:
        """The network and its target network."""
        return [(self.network, self.target_network)]

    def forward_target(self, batch: dict[str, Any]) -> dict[str, Any]:
        """The target network's logits."""
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

    def compute_values(self, batch: dict[str, Any], embeddings: Outputs | None = None) -> Tensor:
        """State values, `[B, T]`; `embeddings` are the outputs of the forward pass, if any."""
        if embeddings is None:
            embeddings, _ = self.network(batch)
        return self.network.values(embeddings)


@dataclass(frozen=True)
class Outputs:
    """The LSTM's outputs for the n real steps of a batch, without padding.

    Attributes:
        steps: `[n, units]`.
        index: `[n]`, position of each step among the B * T entries of the rows; None if there is no
            padding and the steps are in order.
        num_rows: B.
        num_steps: T.
    """

    steps: Tensor
    index: Tensor | None
    num_rows: int
    num_steps: int

    def in_rows(self, x: Tensor) -> Tensor:
        """Scatters values of the real steps, `[n, D]`, into rows `[B, T, D]`; padding is 0."""
        if self.index is not None:
            rows = x.new_zeros(self.num_rows * self.num_steps, x.shape[-1])
            x = rows.index_copy(0, self.index, x)
        return x.view(self.num_rows, self.num_steps, -1)


class PolicyNetwork(nn.Module):
    """The layers of `RecurrentPolicy`.

    Args:
        image_space: Box of uint8 images, (H, W, C).
        num_actions: A.
        is_released: Whether to build the network of the authors' code instead of the paper's.
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

    def logits(self, outputs: Outputs, batch: dict[str, Any]) -> Tensor:
        """Action logits, `[B, T, A]`, with the action mask applied."""
        logits = outputs.in_rows(self.policy_head(outputs.steps))
        obs = batch[Columns.OBS]
        if isinstance(obs, Mapping) and ACTION_MASK in obs:
            forbidden = (obs[ACTION_MASK] == 0) & (obs[ACTION_MASK] != 0).any(-1, keepdim=True)
            logits = logits.masked_fill(forbidden, torch.finfo(logits.dtype).min)
        return logits

    def values(self, outputs: Outputs) -> Tensor:
        """State values, `[B, T]`."""
        return outputs.in_rows(self.value_head(outputs.steps)).squeeze(-1)

    def forward(self, batch: dict[str, Any]) -> tuple[Outputs, dict[str, Tensor]]:
        """Returns the LSTM outputs, and the state after the last step of each row."""
        obs = batch[Columns.OBS]
        images = obs[IMAGE] if isinstance(obs, Mapping) else obs  # [B, T, H, W, C]
        num_rows, num_steps = images.shape[:2]
        state = batch[Columns.STATE_IN]
        h, c = state["h"].unbind(1), state["c"].unbind(1)  # per layer, [B, units]
        if num_steps == 1:  # acting: no padding, nothing to sort
            steps, h, c = self._run(images.flatten(0, 1), [num_rows], h, c)
            outputs = Outputs(steps, None, num_rows, num_steps)
            return outputs, {"h": torch.stack(h, dim=1), "c": torch.stack(c, dim=1)}

        lengths = batch.get(Columns.SEQ_LENS)
        if lengths is None:
            lengths = torch.full((num_rows,), num_steps, device=images.device)
        # Rows end where their episode ends; padding would be a third of the work or more. With the
        # longest rows first, the rows still running at a step are a prefix.
        order = torch.argsort(lengths, descending=True, stable=True)
        back = torch.argsort(order)
        running = torch.arange(num_steps, device=images.device)[:, None] < lengths[order]  # [T, B]
        t, row = running.nonzero(as_tuple=True)  # [steps of all rows] each
        index = order[row] * num_steps + t
        # If the longest row is shorter than T, no rows are left at the last steps: drop the zeros.
        rows_left = [rows for rows in running.sum(dim=1).tolist() if rows]
        steps, h, c = self._run(
            images.flatten(0, 1)[index], rows_left, [x[order] for x in h], [x[order] for x in c]
        )
        return Outputs(steps, index, num_rows, num_steps), {
            "h": torch.stack(h, dim=1)[back],  # [B, layers, units]
            "c": torch.stack(c, dim=1)[back],
        }

    def _run(
        self,
        images: Tensor,
        rows_left: Sequence[int],
        h: Sequence[Tensor],
        c: Sequence[Tensor],
    ) -> tuple[Tensor, list[Tensor], list[Tensor]]:
        """Runs time-major steps through all layers.

        Args:
            images: `[steps of all rows, H, W, C]`: the first step of each row, then the second ...
            rows_left: For each time step, the number of rows that have it; they are the first ones.
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
