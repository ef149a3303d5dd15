"""Acting in N environments at once with a TorchRLModule, recurrent or not."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import torch
import tree
from gymnasium.vector import VectorEnv
from ray.rllib.core.columns import Columns
from ray.rllib.core.rl_module.torch import TorchRLModule
from ray.rllib.utils.spaces.space_utils import clip_action, unsquash_action
from ray.rllib.utils.torch_utils import convert_to_torch_tensor
from torch import Tensor

from rllib_ride.rllib.visits import numeric_entries

_CHOICE = (Columns.ACTIONS, Columns.ACTION_LOGP, Columns.ACTION_DIST_INPUTS)
"""Module outputs that describe its choice: the action itself, or the distribution's inputs."""


class LockStepActor:
    """Runs a policy in N environments and keeps the recurrent state of each.

    Args:
        module: The policy.
        num_envs: N.
        device: The module's device.

    Attributes:
        state: The recurrent state before the next step, a tree of tensors `[N, ...]`; None if the
            policy is not recurrent.
    """

    def __init__(
        self, module: TorchRLModule, num_envs: int, device: torch.device | str = "cpu"
    ) -> None:
        self._module, self._device = module, device
        module.eval()  # otherwise RLlib would switch to eval mode and back at every step
        self._initial_state: dict[str, Tensor] | None = None
        self.state: dict[str, Tensor] | None = None
        if module.is_stateful():
            self._initial_state = tree.map_structure(
                lambda x: torch.as_tensor(x).to(device), module.get_initial_state()
            )
            self.state = tree.map_structure(
                lambda x: x.expand(num_envs, *x.shape).clone(), self._initial_state
            )

    @torch.no_grad()
    def act(
        self, obs: Any, *, explore: bool, timestep: int = 0
    ) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        """Chooses an action for each environment and advances the recurrent state.

        Like RLlib's `GetActions`: if the module returns `actions` or `action_logp`, they are used.

        Args:
            obs: `[N, ...]`, or a dict of such; text entries are dropped.
            explore: Whether to sample from the policy or to take its most likely action.
            timestep: Steps sampled so far, for modules with an exploration schedule.

        Returns:
            Actions `[N, ...]`, and the columns `action_logp` `[N]` and `action_dist_inputs`
            `[N, ...]`. Either column may be missing if the module returns its own `actions`.

        Raises:
            ValueError: If the module returns neither actions nor inputs of their distribution.
        """
        # RLlib's conversion also casts float64, which many environments use, to float32.
        batch: dict[str, Any] = {
            Columns.OBS: convert_to_torch_tensor(numeric_entries(obs), device=self._device)
        }
        if self.state is not None:
            batch[Columns.OBS] = tree.map_structure(
                lambda x: x.unsqueeze(1),  # [N, 1, ...]
                batch[Columns.OBS],
            )
            batch[Columns.STATE_IN] = self.state
        if explore:
            out = self._module.forward_exploration(batch, t=timestep)
        else:
            out = self._module.forward_inference(batch)
        choice: dict[str, Any] = {name: out[name] for name in _CHOICE if name in out}
        if self.state is not None:
            choice = {name: column.squeeze(1) for name, column in choice.items()}  # [N, 1, ...]
            self.state = out[Columns.STATE_OUT]
        if Columns.ACTIONS not in choice:
            self._sample(choice, explore)
        columns = {name: column.numpy(force=True) for name, column in choice.items()}
        return columns.pop(Columns.ACTIONS), columns

    def _sample(self, choice: dict[str, Any], explore: bool) -> None:
        """Adds actions, and their log-probability if it is missing, to columns `[N, ...]`."""
        module = self._module
        if Columns.ACTION_DIST_INPUTS not in choice:
            raise ValueError(
                f"{type(module).__name__} returns neither {Columns.ACTIONS!r} nor "
                f"{Columns.ACTION_DIST_INPUTS!r}, expected one of them"
            )
        distribution = (
            module.get_exploration_action_dist_cls()
            if explore
            else module.get_inference_action_dist_cls()
        )
        policy = distribution.from_logits(choice[Columns.ACTION_DIST_INPUTS])
        actions: Any = (policy if explore else policy.to_deterministic()).sample()
        choice[Columns.ACTIONS] = actions
        if Columns.ACTION_LOGP not in choice:
            choice[Columns.ACTION_LOGP] = policy.logp(actions)

    def begin(self, env_mask: np.ndarray) -> None:
        """Resets the recurrent state of environments that begin an episode, `[N]` bool."""
        if self.state is not None and self._initial_state is not None and env_mask.any():
            begins = torch.from_numpy(env_mask).to(self._device)

            def restart(state: Tensor, initial: Tensor) -> None:
                state[begins] = initial

            tree.map_structure(restart, self.state, self._initial_state)


def actions_for_env(
    actions: np.ndarray, action_space: gym.Space, *, normalized: bool, clip: bool
) -> np.ndarray:
    """Converts the policy's actions `[N, ...]` to what the environments expect.

    Args:
        actions: As the policy chose them; the Learner sees these.
        action_space: Of one environment; only Box actions are changed.
        normalized: RLlib's `normalize_actions`: the policy acts in [-1, 1] if the Box is bounded.
        clip: RLlib's `clip_actions`; only used if `normalized` is False.
    """
    if not isinstance(action_space, gym.spaces.Box):
        return actions
    if normalized:
        return unsquash_action(actions, action_space)
    return clip_action(actions, action_space) if clip else actions


def reset_each(env: VectorEnv, seeds: list[int] | None) -> tuple[Any, dict[str, Any]]:
    """Resets with one seed per environment, or with the first seed if `env` takes only one.

    Gymnasium's vectorized CartPole does: it draws for all environments at once.
    """
    if seeds is None:
        return env.reset()
    try:
        return env.reset(seed=seeds)  # type: ignore[arg-type]  # one per environment: documented
    except gym.error.Error:
        return env.reset(seed=seeds[0])
