from __future__ import annotations

import torch
from torch import nn

from rllib_ride.intrinsic import clip_each_network


class TwoNetworks(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.large = nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 1))
        self.small = nn.Linear(2, 1)
        self.frozen = nn.Linear(2, 1).requires_grad_(False)


def test_each_network_is_clipped_by_itself() -> None:
    networks = TwoNetworks()
    for parameter in networks.large.parameters():
        parameter.grad = torch.full_like(parameter, 10.0)
    for parameter in networks.small.parameters():
        parameter.grad = torch.full_like(parameter, 0.5)

    norms = clip_each_network(networks, max_grad_norm=5.0)

    num_large = sum(parameter.numel() for parameter in networks.large.parameters())
    torch.testing.assert_close(norms["large"], torch.tensor(10.0 * num_large**0.5))
    torch.testing.assert_close(norms["small"], torch.tensor(0.75**0.5))
    assert norms["frozen"] == 0.0

    gradients = torch.cat([p.grad.flatten() for p in networks.large.parameters()])
    torch.testing.assert_close(gradients.norm(), torch.tensor(5.0))
    assert all((p.grad == 0.5).all() for p in networks.small.parameters())
