"""Gradient clipping as the authors do it: each network by itself."""

from __future__ import annotations

from collections import defaultdict

import torch
from torch import Tensor, nn


def clip_each_network(method: nn.Module, max_grad_norm: float) -> dict[str, Tensor]:
    """Scales the gradients of each network of `method` to a norm of at most `max_grad_norm`.

    A network is everything under one attribute of `method`, as "embedding". Changes the gradients
    in place; parameters without a gradient are left alone.

    Returns:
        Each network's gradient norm before clipping, a scalar tensor.
    """
    networks: dict[str, list[nn.Parameter]] = defaultdict(list)
    for name, parameter in method.named_parameters():
        networks[name.split(".")[0]].append(parameter)
    return {
        name: torch.nn.utils.clip_grad_norm_(parameters, max_grad_norm)
        for name, parameters in networks.items()
    }
