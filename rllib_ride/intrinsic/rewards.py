"""The reward that the policy is trained on."""

from __future__ import annotations

import torch
from torch import Tensor


def combine_rewards(r_ext: Tensor, r_int: Tensor, coef: float, clip: float | None = 1.0) -> Tensor:
    """The sum of extrinsic and intrinsic reward: clip(r_ext + w_ir * r_int, -clip, clip).

    Source: r_t = r_ext + w_ir * r_int is section 3 of the paper. The clip, to [-1, 1] in the
    paper's runs, is from the released code.

    Args:
        r_ext: extrinsic rewards, any shape. Pass zeros to train without them.
        r_int: bonuses of the same shape.
        coef: w_ir, the weight of the bonus.
        clip: the sum is clipped to [-clip, clip]; None: not clipped.
    """
    total = r_ext + coef * r_int
    return total if clip is None else torch.clamp(total, -clip, clip)
