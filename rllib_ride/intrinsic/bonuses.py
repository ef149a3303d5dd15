"""Intrinsic rewards as pure functions, one a paper, in the paper's symbols.

Each returns one number a transition, before the coefficient w_ir. Transition t leads from s_t to
s_{t+1}. Leading axes "..." are any that all arguments share, as [T, B] or [n]. Nothing here knows
about networks, masks or gradients.
"""

from __future__ import annotations

import torch
from torch import Tensor


def ride(phi: Tensor, phi_next: Tensor, n_ep: Tensor) -> Tensor:
    """RIDE: r_t = ||phi(s_{t+1}) - phi(s_t)||_2 / sqrt(N_ep(s_{t+1})).

    Source: Raileanu and Rocktaeschel, "RIDE", ICLR 2020, section 4, the definition of R_IDE.

    Args:
        phi: phi(s_t), [..., D].
        phi_next: phi(s_{t+1}), [..., D].
        n_ep: N_ep(s_{t+1}), [...], visits of the reached state in this episode, the visit just
            made included: a first visit has 1.

    Returns:
        [...].
    """
    impact = torch.linalg.vector_norm(phi_next - phi, dim=-1)  # [...]
    return impact / torch.sqrt(n_ep.to(impact.dtype))  # [...]
