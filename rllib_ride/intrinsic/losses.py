"""The losses that train the embedding, and the way the paper reduces a loss to a number.

Time-major: T steps by B sequences. A mask [T, B] is True where there is a real transition and False
where a sequence was padded.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor


def forward_loss(phi_hat_next: Tensor, phi_next: Tensor, mask: Tensor) -> Tensor:
    """L_fw = sum_t mean_b ||phi_hat(s_{t+1}) - phi(s_{t+1})||_2.

    The norm, as the authors' code has it; the text of the paper (section 3) squares it.

    Args:
        phi_hat_next: the forward model's prediction, [T, B, D].
        phi_next: phi(s_{t+1}), [T, B, D]. It is trained too: both ends carry the gradient.
        mask: [T, B] bool.
    """
    # PyTorch gives the norm the subgradient 0 at 0, so a perfect prediction yields no NaN.
    error = torch.linalg.vector_norm(phi_hat_next - phi_next, dim=-1)  # [T, B]
    return sum_over_time_mean_over_batch(error, mask)


def inverse_loss(logits: Tensor, actions: Tensor, mask: Tensor) -> Tensor:
    """L_inv = sum_t mean_b CrossEntropy(a_hat_t, a_t). Source: paper, section 3.

    Args:
        logits: the inverse model's output, [T, B, A].
        actions: a_t, [T, B] integers from 0 to A - 1, padding included.
        mask: [T, B] bool.
    """
    cross_entropy = F.cross_entropy(
        logits.flatten(0, 1), actions.long().flatten(), reduction="none"
    ).view_as(actions)  # [T, B]
    return sum_over_time_mean_over_batch(cross_entropy, mask)


def sum_over_time_mean_over_batch(x: Tensor, mask: Tensor) -> Tensor:
    """Sum over time of the mean over the batch, as T times the mean over real transitions.

    Without padding the two are one. With padding, a transition weighs the same wherever it lies: a
    sequence cut short by an episode's end neither dilutes nor inflates the others.

    Args:
        x: [T, B], T the unroll length that short sequences are padded to.
        mask: [T, B] bool.
    """
    return x.shape[0] * mean_over_transitions(x, mask)


def mean_over_transitions(x: Tensor, mask: Tensor) -> Tensor:
    """Mean of x [T, B] where mask [T, B] is True; 0 if it is nowhere."""
    return torch.where(mask, x, 0.0).sum() / mask.sum().clamp(min=1)
