"""The paper's policy network as an RLModule."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import torch
from ray.rllib.core.columns import Columns
from ray.rllib.core.rl_module.apis import ValueFunctionAPI
from ray.rllib.core.rl_module.torch.torch_rl_module import TorchRLModule
from torch import nn

from rllib_ride.intrinsic.networks import ConvStack, orthogonal


class RecurrentPolicy(TorchRLModule, ValueFunctionAPI):
    """Convolutions, LSTM, linear policy and value heads (paper, appendix A.1).

    `model_config["network"]` chooses between the text and the authors' code:

    - `"paper"`: 3 convolutions (MiniGrid) or 4 (pixels) of 32 filters, an LSTM of 256 units.
    - `"released"`: for MiniGrid two fully connected layers of 1024 in between and a two-layer
      LSTM of 1024; for pixels a two-layer LSTM of 256.

    Observations are images `[B, T, H, W, C]`, not divided by 255 (the embedding's are). The state
    is `{"h", "c"}`, each `[B, layers, units]`. In training a batch may carry `seq_lens` `[B]`: only
    that many steps of each row are computed, the rest of its outputs is zero.
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
        self.convolutions = ConvStack(self.observation_space, grid_filters=(32, 32, 32))
        features = self.convolutions.num_features
        self.fully_connected: nn.Module = nn.Identity()
        units, layers = 256, 1
        if network == "released":
            layers = 2
            if self.convolutions.is_grid:
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
        self.policy_head = orthogonal(nn.Linear(units, int(self.action_space.n)), gain=1.0)
        self.value_head = orthogonal(nn.Linear(units, 1), gain=1.0)

    def get_initial_state(self) -> dict[str, torch.Tensor]:
        """Zeros, `[layers, units]` each."""
        shape = (len(self.lstm), self.policy_head.in_features)
        return {"h": torch.zeros(shape), "c": torch.zeros(shape)}

    def _forward(self, batch: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
        outputs, state_out = self._run(batch)
        return {Columns.ACTION_DIST_INPUTS: self.policy_head(outputs), Columns.STATE_OUT: state_out}

    def _forward_train(self, batch: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
        outputs, state_out = self._run(batch)
        return {
            Columns.ACTION_DIST_INPUTS: self.policy_head(outputs),
            Columns.STATE_OUT: state_out,
            Columns.EMBEDDINGS: outputs,
        }

    def compute_values(
        self, batch: dict[str, Any], embeddings: torch.Tensor | None = None
    ) -> torch.Tensor:
        """State values, `[B, T]`."""
        if embeddings is None:
            embeddings, _ = self._run(batch)
        return self.value_head(embeddings).squeeze(-1)

    def _run(self, batch: dict[str, Any]) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
        """LSTM outputs `[B, T, units]` and the state after the last step of each row."""
        obs = batch[Columns.OBS]  # [B, T, H, W, C]
        num_rows, num_steps = obs.shape[:2]
        lengths = batch.get(Columns.SEQ_LENS)
        if lengths is None:
            lengths = torch.full((num_rows,), num_steps, device=obs.device)
        # Rows end where their episode ends, and what lies beyond would be a third of the work and
        # more. With the longest rows first, the rows still running at a step are a prefix.
        order = torch.argsort(lengths, descending=True, stable=True)
        running = torch.arange(num_steps, device=obs.device)[:, None] < lengths[order]  # [T, B]
        features = self.convolutions(obs[order].transpose(0, 1)[running].float())  # [steps, D]
        steps = self.fully_connected(features).split(running.sum(dim=1).tolist())

        state = batch[Columns.STATE_IN]
        last_h, last_c = [], []
        for layer, cell in enumerate(self.lstm):
            h, c = state["h"][order, layer], state["c"][order, layer]  # [B, units]
            outputs, ended_h, ended_c = [], [], []
            for step in steps:  # [rows still running, D]
                ended_h.append(h[len(step) :])
                ended_c.append(c[len(step) :])
                h, c = cell(step, (h[: len(step)], c[: len(step)]))
                outputs.append(h)
            steps = outputs
            last_h.append(torch.cat([h, *reversed(ended_h)]))
            last_c.append(torch.cat([c, *reversed(ended_c)]))

        back = torch.argsort(order)
        padded = features.new_zeros(num_steps, num_rows, self.policy_head.in_features)
        padded[running] = torch.cat(steps)
        return padded.transpose(0, 1)[back], {
            "h": torch.stack(last_h, dim=1)[back],  # [B, layers, units]
            "c": torch.stack(last_c, dim=1)[back],
        }
