"""Acting in N environments at once with a TorchRLModule, recurrent or not."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from ray.rllib.core.columns import Columns
from ray.rllib.core.rl_module.torch import TorchRLModule
from torch import Tensor


class LockStepActor:
    """A policy in N environments, with the recurrent state of each.

    Args:
        module: The policy.
        num_envs: N.
        device: Where the module is.

    Attributes:
        state: The recurrent state before the next step, tensors `[N, ...]`; None if there is none.
    """

    def __init__(
        self, module: TorchRLModule, num_envs: int, device: torch.device | str = "cpu"
    ) -> None:
        self._module, self._device = module, device
        self._initial_state: dict[str, Tensor] | None = None
        self.state: dict[str, Tensor] | None = None
        if module.is_stateful():
            initial = module.get_initial_state()
            self._initial_state = {k: torch.as_tensor(v).to(device) for k, v in initial.items()}
            self.state = {
                key: value.expand(num_envs, *value.shape).clone()
                for key, value in self._initial_state.items()
            }

    @torch.no_grad()
    def act(
        self, obs: np.ndarray, *, explore: bool, timestep: int = 0
    ) -> tuple[np.ndarray, np.ndarray]:
        """Chooses an action for each environment and advances the recurrent state.

        Args:
            obs: `[N, ...]`.
            explore: Sample from the policy; otherwise take its likeliest action.
            timestep: Steps sampled so far, for modules that explore less and less.

        Returns:
            Actions `[N, ...]` and their log-probabilities `[N]`.
        """
        batch: dict[str, Any] = {Columns.OBS: torch.as_tensor(obs, device=self._device)}
        if self.state is not None:
            batch[Columns.OBS] = batch[Columns.OBS].unsqueeze(1)  # [N, 1, ...]
            batch[Columns.STATE_IN] = self.state
        if explore:
            out = self._module.forward_exploration(batch, t=timestep)
            distribution = self._module.get_exploration_action_dist_cls()
        else:
            out = self._module.forward_inference(batch)
            distribution = self._module.get_inference_action_dist_cls()
        inputs = out[Columns.ACTION_DIST_INPUTS]
        if self.state is not None:
            inputs, self.state = inputs.squeeze(1), out[Columns.STATE_OUT]
        policy = distribution.from_logits(inputs)
        actions: Any = (policy if explore else policy.to_deterministic()).sample()
        logp: Any = policy.logp(actions)
        return actions.numpy(force=True), logp.numpy(force=True)

    def begin(self, env_mask: np.ndarray) -> None:
        """Gives environments that begin an episode, `[N]` bool, the initial state."""
        if self.state is not None and self._initial_state is not None and env_mask.any():
            begins = torch.from_numpy(env_mask).to(self._device)
            for key, value in self._initial_state.items():
                self.state[key][begins] = value
