"""The batch that an intrinsic method reads."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import torch
from torch import Tensor


@dataclass(frozen=True)
class Transitions:
    """B sequences of T transitions, time-major; transition t leads from obs[t] to obs[t+1].

    No sequence crosses an episode's end. Shorter sequences are padded, as `mask` shows. With short
    episodes most of the batch is padding, so methods compute on the n real transitions only
    (`pack`, `embed`) and then restore the layout (`unpack`).

    Attributes:
        obs: [T+1, B, *observation]; integers [T+1, B] if Discrete.
        actions: a_t, integers [T, B] if Discrete, floats [T, B, *action] if a Box.
        episodic_counts: N_ep(s_{t+1}), [T, B] numbers, including the visit by this transition.
        mask: [T, B] bool, True at real transitions. At padding the other fields may hold anything.
        state_keys: of s_{t+1}, [T, B] 64-bit integers; equal keys count as the same state.
        episode_ids: [B] 64-bit integers. An episode longer than T spans several sequences with the
            same id, in one batch or in successive ones.
        t_started: [B] integers, the step of its episode at which each sequence begins.
        ended: [B] bool, True where an episode is known to end with its sequence; None if that is
            not known of any.

    Raises:
        ValueError: the shapes do not fit together, or the mask is not bool.
    """

    obs: Tensor
    actions: Tensor
    episodic_counts: Tensor
    mask: Tensor
    state_keys: Tensor
    episode_ids: Tensor
    t_started: Tensor
    ended: Tensor | None = None
    _embedded: dict[Callable[[Tensor], Tensor], Tensor] | None = field(
        default=None, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        t, b = self.mask.shape
        shapes = {
            "obs": (tuple(self.obs.shape[:2]), (t + 1, b)),
            "actions": (tuple(self.actions.shape[:2]), (t, b)),
            "episodic_counts": (tuple(self.episodic_counts.shape), (t, b)),
            "state_keys": (tuple(self.state_keys.shape), (t, b)),
            "episode_ids": (tuple(self.episode_ids.shape), (b,)),
            "t_started": (tuple(self.t_started.shape), (b,)),
        }
        if self.ended is not None:
            shapes["ended"] = (tuple(self.ended.shape), (b,))
        for name, (shape, wanted) in shapes.items():
            if shape != wanted:
                raise ValueError(
                    f"Transitions.{name} begins with axes {shape}, expected {wanted}: "
                    f"the mask's are {(t, b)}"
                )
        if self.mask.dtype != torch.bool:
            raise ValueError(f"Transitions.mask is {self.mask.dtype}, expected torch.bool")

    def for_one_update(self) -> Transitions:
        """A copy that caches embeddings, so that loss and bonus share one forward pass.

        Valid until the weights change: make a new copy for each update.
        """
        return replace(self, _embedded={})

    def pack(self, x: Tensor) -> Tensor:
        """Selects the n real transitions of x: [T, B, ...] -> [n, ...]."""
        return x[self.mask]

    def unpack(self, x: Tensor) -> Tensor:
        """The inverse of `pack`, with 0 at padding: [n] -> [T, B]."""
        return x.new_zeros(self.mask.shape).masked_scatter(self.mask, x)

    def embed(self, embedding: Callable[[Tensor], Tensor]) -> tuple[Tensor, Tensor]:
        """Embeds the states at both ends of each real transition: phi(s_t), phi(s_{t+1}).

        Embeds each state once, in a single call, without padding.

        Args:
            embedding: maps [..., *observation] to [..., D].

        Returns:
            [n, D] each, in the order of `pack`.
        """
        nowhere = torch.zeros_like(self.mask[:1])
        is_state = torch.cat((self.mask, nowhere)) | torch.cat((nowhere, self.mask))  # [T+1, B]
        kept = {} if self._embedded is None else self._embedded
        phi = kept.get(embedding)  # [states, D]
        if phi is None or (torch.is_grad_enabled() and not phi.requires_grad):
            phi = kept[embedding] = embedding(self.obs[is_state])
        row = (is_state.flatten().cumsum(0) - 1).view_as(is_state)  # [T+1, B], each state's in phi
        return phi.index_select(0, self.pack(row[:-1])), phi.index_select(0, self.pack(row[1:]))
