"""The interface of an intrinsic reward to the rest of the package."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import gymnasium as gym
from torch import Tensor, nn

from rllib_ride.intrinsic.transitions import Transitions


class IntrinsicMethod(nn.Module, ABC):
    """An intrinsic reward: its networks, its bonus, and the loss that trains the networks.

    A new method is one subclass in one file. Its networks are its child modules, each with its own
    optimizer and gradient clip. Parameters outside of child modules are not trained, and neither
    are frozen ones (`requires_grad=False`). A method may have no networks and a loss of 0. Options
    are keyword arguments of the constructor, with good defaults:

    >>> import torch
    >>> from rllib_ride.intrinsic import Embedding, IntrinsicMethod, losses, register_method
    >>> class Reconstruction(IntrinsicMethod):
    ...     "Pays for states whose mean pixel a linear read-out of their embedding gets wrong."
    ...
    ...     def __init__(self, observation_space, action_space, loss_coef=1.0):
    ...         super().__init__(observation_space, action_space)
    ...         self.embedding = Embedding(observation_space)
    ...         self.readout = torch.nn.Linear(self.embedding.num_features, 1)
    ...         self.loss_coef = loss_coef
    ...
    ...     @torch.no_grad()
    ...     def bonus(self, transitions):
    ...         return transitions.unpack(self._error(transitions))  # [T, B]
    ...
    ...     def loss(self, transitions):
    ...         error = transitions.unpack(self._error(transitions))  # [T, B]
    ...         loss = losses.sum_over_time_mean_over_batch(error, transitions.mask)
    ...         return self.loss_coef * loss, {"readout_loss": loss.detach()}
    ...
    ...     def _error(self, transitions):
    ...         obs_next = transitions.pack(transitions.obs[1:])  # [n, H, W, C]
    ...         guess = self.readout(self.embedding(obs_next)).squeeze(-1)  # [n]
    ...         return (guess - obs_next.float().mean(dim=(-3, -2, -1))).abs()  # [n]
    >>> register_method("reconstruction", Reconstruction)

    Args:
        observation_space: of a single environment, as the method receives its observations.
        action_space: of a single environment.

    Attributes:
        needs_episodic_counts: True if `bonus` reads `transitions.episodic_counts`. If False, no
            counts need to be kept and the field may hold anything.
        needs_state_keys: the same for `transitions.state_keys`.
        shares_policy_embedding: True if the method has a method `share` that takes the policy's
            embedding. The method's loss then trains that embedding too.
        entropy_coeff: the policy's entropy coefficient, if it is part of the method; None leaves it
            to the algorithm.
    """

    needs_episodic_counts: ClassVar[bool] = False
    needs_state_keys: ClassVar[bool] = False
    shares_policy_embedding: ClassVar[bool] = False
    entropy_coeff: ClassVar[float | None] = None

    def __init__(self, observation_space: gym.Space, action_space: gym.Space) -> None:
        super().__init__()
        self.observation_space = observation_space
        self.action_space = action_space

    @abstractmethod
    def bonus(self, transitions: Transitions) -> Tensor:
        """The intrinsic reward of each transition, before the coefficient.

        Returns:
            [T, B], without gradient, 0 at padding (as `transitions.unpack` returns it).
        """

    @abstractmethod
    def loss(self, transitions: Transitions) -> tuple[Tensor, dict[str, Tensor]]:
        """The loss of the method's networks, summed over time and averaged over the batch.

        Returns:
            The loss, including its coefficients, and scalars to log by name, without gradient.
        """

    def take_back(self) -> None:
        """Undoes what the last `bonus` remembered of its transitions.

        For methods whose `bonus` keeps state from batch to batch. Called at most once after a
        `bonus`, when an update is skipped because a number in it is not finite.
        """
