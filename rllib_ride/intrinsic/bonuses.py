"""Intrinsic rewards as pure functions, one a paper, in the paper's symbols.

All are time-major, T steps by B sequences, and return [T, B] before the coefficient w_ir.
Transition t leads from s_t to s_{t+1}. Nothing here knows about networks, masks or gradients.
"""

from __future__ import annotations

import torch
from torch import Tensor


def ride(phi: Tensor, phi_next: Tensor, n_ep: Tensor) -> Tensor:
    """RIDE: r_t = ||phi(s_{t+1}) - phi(s_t)||_2 / sqrt(N_ep(s_{t+1})).

    Source: Raileanu and Rocktaeschel, "RIDE", ICLR 2020, section 4, the definition of R_IDE.

    Args:
        phi: phi(s_t), [T, B, D].
        phi_next: phi(s_{t+1}), [T, B, D].
        n_ep: N_ep(s_{t+1}), [T, B], visits of the reached state in this episode, the visit just
            made included: a first visit has 1.
    """
    impact = torch.linalg.vector_norm(phi_next - phi, dim=-1)  # [T, B]
    return impact / torch.sqrt(n_ep.to(impact.dtype))  # [T, B]
