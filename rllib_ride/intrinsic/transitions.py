"""The batch that an intrinsic method reads."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Transitions:
    """T transitions of each of B sequences, time-major; transition t leads from obs[t] to obs[t+1].

    No sequence crosses an episode's end: a shorter one is padded, and `mask` says where.

    Attributes:
        obs: [T+1, B, ...].
        actions: a_t, [T, B] integers.
        episodic_counts: N_ep(s_{t+1}), [T, B] numbers, the visit just made included.
        mask: [T, B] bool, True where there is a real transition. What the other fields hold at
            padding does not matter, as long as the networks can read it.

    Raises:
        ValueError: the shapes do not fit together, or the mask is not bool.
    """

    obs: Tensor
    actions: Tensor
    episodic_counts: Tensor
    mask: Tensor

    def __post_init__(self) -> None:
        t, b = self.mask.shape
        shapes = {
            "obs": (tuple(self.obs.shape[:2]), (t + 1, b)),
            "actions": (tuple(self.actions.shape), (t, b)),
            "episodic_counts": (tuple(self.episodic_counts.shape), (t, b)),
        }
        for name, (shape, wanted) in shapes.items():
            if shape != wanted:
                raise ValueError(
                    f"Transitions.{name} begins with axes {shape}, want {wanted}: "
                    f"the mask's are {(t, b)}"
                )
        if self.mask.dtype != torch.bool:
            raise ValueError(f"Transitions.mask is {self.mask.dtype}, want torch.bool")

    def zero_padding(self, x: Tensor) -> Tensor:
        """Returns x [T, B] with 0 wherever there is no real transition."""
        return torch.where(self.mask, x, 0.0)
