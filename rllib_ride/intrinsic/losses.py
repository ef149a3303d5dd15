"""The losses that train the embedding, and the paper's reduction of them to a scalar."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor


def forward_error(phi_hat_next: Tensor, phi_next: Tensor) -> Tensor:
    """The forward loss of each transition: L_fw = ||phi_hat(s_{t+1}) - phi(s_{t+1})||_2.

    The norm follows the authors' code; the text of the paper (section 3) squares it.

    Args:
        phi_hat_next: the forward model's prediction, [..., D].
        phi_next: phi(s_{t+1}), [..., D]. Not detached: the loss trains it too.

    Returns:
        [...].
    """
    # PyTorch gives the norm the subgradient 0 at 0, so a perfect prediction yields no NaN.
    return torch.linalg.vector_norm(phi_hat_next - phi_next, dim=-1)


def inverse_error(logits: Tensor, actions: Tensor) -> Tensor:
    """The inverse loss of each transition: L_inv = CrossEntropy(a_hat_t, a_t).

    Source: paper, section 3, for discrete actions.

    Args:
        logits: the inverse model's output, [..., A].
        actions: a_t, [...] integers from 0 to A - 1.

    Returns:
        [...].
    """
    log_probabilities = F.log_softmax(logits, dim=-1)  # [..., A]
    return -log_probabilities.gather(-1, actions.long().unsqueeze(-1)).squeeze(-1)  # [...]


def inverse_squared_error(prediction: Tensor, actions: Tensor) -> Tensor:
    """The inverse loss of each transition for a Box: L_inv = ||a_hat_t - a_t||_2^2.

    ICM (section 2.2) derives the cross-entropy of discrete actions from their likelihood. Up to a
    constant, this is the negative log-likelihood of a Gaussian with variance 1/2 in each of the A
    components. It sums over components, so that each weighs as much as it would alone.

    Args:
        prediction: the inverse model's output, [..., A].
        actions: a_t, [..., A].

    Returns:
        [...].
    """
    return (prediction - actions).square().sum(dim=-1)


def sum_over_time_mean_over_batch(x: Tensor, mask: Tensor) -> Tensor:
    """Sums over time and averages over the batch, as T times the mean over real transitions.

    Without padding the two are equal. With padding, every real transition has the same weight: a
    sequence cut short by an episode's end neither dilutes nor inflates the others.

    Args:
        x: [T, B], where T is the unroll length that short sequences are padded to.
        mask: [T, B] bool, True at real transitions.
    """
    return x.shape[0] * mean_over_transitions(x, mask)


def mean_over_transitions(x: Tensor, mask: Tensor) -> Tensor:
    """Mean of x [T, B] where mask [T, B] is True; 0 if the mask is all False."""
    return torch.where(mask, x, 0.0).sum() / mask.sum().clamp(min=1)
