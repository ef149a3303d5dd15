"""The reward that the policy is trained on."""

from __future__ import annotations

import torch
from torch import Tensor


def combine_rewards(r_ext: Tensor, r_int: Tensor, coef: float, clip: float | None = 1.0) -> Tensor:
    """The sum r_ext + w_ir * r_int, clipped: clip(r_ext + w_ir * r_int, -1, 1) in the paper's runs.

    Source: r_t = r_ext + w_ir * r_int is section 3 of the paper; the clip is the released code's.

    Args:
        r_ext: rewards of the environment, any shape. Zeros for training without them.
        r_int: bonuses of the same shape.
        coef: w_ir, the weight of the bonus.
        clip: the sum is clipped to [-clip, clip]; None for rewards that may be larger.
    """
    total = r_ext + coef * r_int
    return total if clip is None else torch.clamp(total, -clip, clip)
