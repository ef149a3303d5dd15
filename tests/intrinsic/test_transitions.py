from __future__ import annotations

import pytest
import torch

from rllib_ride.intrinsic import Transitions

T, B = 4, 3


def fields() -> dict[str, torch.Tensor]:
    return {
        "obs": torch.zeros(T + 1, B, 7, 7, 3),
        "actions": torch.zeros(T, B, dtype=torch.long),
        "episodic_counts": torch.ones(T, B),
        "mask": torch.ones(T, B, dtype=torch.bool),
    }


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("obs", torch.zeros(T, B, 7, 7, 3)),  # the last observation is missing
        ("actions", torch.zeros(B, T, dtype=torch.long)),  # batch-major
        ("episodic_counts", torch.ones(T + 1, B)),
    ],
)
def test_shapes_that_do_not_fit_are_told(field: str, value: torch.Tensor) -> None:
    with pytest.raises(ValueError, match=field):
        Transitions(**(fields() | {field: value}))


def test_the_mask_must_be_bool() -> None:
    with pytest.raises(ValueError, match="torch.uint8"):
        Transitions(**(fields() | {"mask": torch.ones(T, B, dtype=torch.uint8)}))


def test_zero_padding_silences_even_nan() -> None:
    mask = torch.arange(T)[:, None] < torch.tensor([4, 1, 2])
    x = torch.ones(T, B).where(mask, torch.nan)
    assert torch.equal(Transitions(**(fields() | {"mask": mask})).zero_padding(x), mask.float())
