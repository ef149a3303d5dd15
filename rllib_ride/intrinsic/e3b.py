"""E3B, exploration via elliptical episodic bonuses (Henaff et al., NeurIPS 2022)."""

from __future__ import annotations

import warnings
from collections import Counter, OrderedDict

import gymnasium as gym
import torch
from torch import Tensor

from rllib_ride.intrinsic import bonuses, losses
from rllib_ride.intrinsic.method import IntrinsicMethod
from rllib_ride.intrinsic.networks import Embedding, InverseModel
from rllib_ride.intrinsic.transitions import Transitions

NUM_STATES = 128  # states whose bonuses are computed at once; time and memory grow with its square


class E3b(IntrinsicMethod):
    """Rewards states unlike those of the episode so far, in an embedding of what actions change.

    The covariance C of each running episode is kept from batch to batch, but not in `state_dict`:
    an episode that the module does not know is treated as beginning with the first state it sees.
    See docs/methods/e3b.md.

    Args:
        observation_space: any that `Embedding` supports.
        action_space: Discrete with `start=0`, or Box.
        ridge: lambda; C = lambda I before an episode's first state.
        inverse_loss_coef: w_inv, the weight of the inverse model's loss.
        num_episodes: the number of episodes whose C is kept, the most recently seen ones. Should
            be at least the number of episodes that run at the same time.

    Raises:
        ValueError: a space is not supported, or `num_episodes` is below 1.
    """

    def __init__(
        self,
        observation_space: gym.Space,
        action_space: gym.Space,
        ridge: float = 0.1,
        inverse_loss_coef: float = 1.0,
        num_episodes: int = 4096,
    ) -> None:
        super().__init__(observation_space, action_space)
        if num_episodes < 1:
            raise ValueError(f"num_episodes={num_episodes} must be at least 1")
        self.ridge = ridge
        self.inverse_loss_coef = inverse_loss_coef
        self.num_episodes = num_episodes
        self.embedding = Embedding(observation_space)
        self.inverse_model = InverseModel(self.embedding.num_features, action_space)
        self._covariances: OrderedDict[int, Tensor] = OrderedDict()  # by episode id, [D, D] each
        self._covariances_before = self._covariances  # as before the last `bonus`
        self._has_forgotten = False

    @torch.no_grad()
    def bonus(self, transitions: Transitions) -> Tensor:
        """phi^T C^{-1} phi of each state reached, [T, B]; 0 at padding.

        Adds the start state s_t of each transition to its episode's C: calling this twice adds
        them twice. C is computed in float64 (see `bonuses.e3b`) and kept in float32.
        """
        self._covariances_before = self._covariances.copy()  # shallow: matrices are never modified
        phi = self._states(transitions)  # [T+1, B, D]
        bonus = phi.new_zeros(transitions.mask.shape)  # [T, B]
        for rows in _waves(transitions):
            episodes = transitions.episode_ids[rows].tolist()
            begins = (transitions.t_started[rows] == 0).tolist()
            c = torch.stack([self._take(*row) for row in zip(episodes, begins, strict=True)])
            bonus[:, rows], c = _pay(phi[:, rows], transitions.mask[:, rows], c)
            for episode, matrix in zip(episodes, c.float(), strict=True):
                self._covariances[episode] = matrix.clone()  # a view would keep all of c alive
        self._forget(transitions)
        return torch.where(transitions.mask, bonus.float(), 0.0)

    def loss(self, transitions: Transitions) -> tuple[Tensor, dict[str, Tensor]]:
        """w_inv * L_inv, summed over time, averaged over the batch.

        Logs `inverse_loss`, its weight included.
        """
        phi, phi_next = transitions.embed(self.embedding)  # [n, D] each
        actions = transitions.pack(transitions.actions)  # [n, ...]
        l_inv = self.inverse_model.error(phi, phi_next, actions)  # [n]
        loss = self.inverse_loss_coef * losses.sum_over_time_mean_over_batch(
            transitions.unpack(l_inv), transitions.mask
        )
        return loss, {"inverse_loss": loss.detach()}

    def take_back(self) -> None:
        """Removes the states that the last `bonus` added to C."""
        self._covariances = self._covariances_before

    def _states(self, transitions: Transitions) -> Tensor:
        """The embedding of each state, float64 [T+1, B, D]; 0 at padding."""
        mask = transitions.mask
        phi, phi_next = (x.double() for x in transitions.embed(self.embedding))  # [n, D] each
        states = phi.new_zeros(len(mask) + 1, mask.shape[1], phi.shape[-1])  # [T+1, B, D]
        states[:-1][mask] = phi
        states[1:][mask] = phi_next
        return states

    def _take(self, episode: int, begins: bool) -> Tensor:
        """Removes and returns an episode's C, float64 [D, D]; lambda I if new or not kept."""
        c = self._covariances.pop(episode, None)
        if c is None and not begins and self._has_forgotten:
            warnings.warn(
                f"E3B keeps {self.num_episodes} episodes and no longer knows one that goes on: its "
                "bonus is too high until it ends; set num_episodes in method_config to at least "
                "the number of environments of all EnvRunners together",
                stacklevel=2,
            )
        if begins or c is None:
            c = self.ridge * torch.eye(self.embedding.num_features)
        device = next(self.parameters()).device
        return c.to(device, torch.float64)

    def _forget(self, transitions: Transitions) -> None:
        """Drops the episodes that ended with a batch, then the least recently seen if too many."""
        if transitions.ended is not None:
            for episode in transitions.episode_ids[transitions.ended].tolist():
                self._covariances.pop(episode, None)
        while len(self._covariances) > self.num_episodes:
            self._covariances.popitem(last=False)
            self._has_forgotten = True


def _pay(phi: Tensor, mask: Tensor, c: Tensor) -> tuple[Tensor, Tensor]:
    """Computes the bonuses of W sequences, and their C updated by the start states.

    A sequence's last state is rewarded but not added to C: it is the start state of the episode's
    next sequence.

    Args:
        phi: [T+1, W, D].
        mask: [T, W].
        c: [W, D, D].

    Returns:
        The bonuses, [T, W], and C, [W, D, D].
    """
    left = torch.where(mask.unsqueeze(-1), phi[:-1], 0.0).transpose(0, 1)  # [W, T, D]
    bonus = []
    for t in range(0, len(mask), NUM_STATES):
        states = phi[t : t + NUM_STATES + 1].transpose(0, 1)  # [W, S+1, D]
        bonus.append(bonuses.e3b(states, c)[:, 1:].T)  # [S, W]
        part = left[:, t : t + NUM_STATES]  # [W, S, D]
        c = c + part.mT @ part
    return torch.cat(bonus), c


def _waves(transitions: Transitions) -> list[list[int]]:
    """Groups the columns of a batch, in order of time: one sequence per episode in each group."""
    waves: list[list[int]] = []
    num_sequences: Counter[int] = Counter()
    episodes = transitions.episode_ids.tolist()
    not_empty = transitions.mask[0].tolist()
    for b in transitions.t_started.argsort().tolist():
        if not_empty[b]:
            wave = num_sequences[episodes[b]]
            num_sequences[episodes[b]] += 1
            if wave == len(waves):
                waves.append([])
            waves[wave].append(b)
    return waves
