from __future__ import annotations

import pytest
import torch

from rllib_ride.intrinsic import Transitions

T, B = 4, 3
MASK = torch.arange(T)[:, None] < torch.tensor([4, 1, 2])


def fields() -> dict[str, torch.Tensor]:
    return {
        "obs": torch.zeros(T + 1, B, 7, 7, 3),
        "actions": torch.zeros(T, B, dtype=torch.long),
        "episodic_counts": torch.ones(T, B),
        "mask": torch.ones(T, B, dtype=torch.bool),
        "state_keys": torch.zeros(T, B, dtype=torch.long),
        "episode_ids": torch.zeros(B, dtype=torch.long),
        "t_started": torch.zeros(B, dtype=torch.long),
    }


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("obs", torch.zeros(T, B, 7, 7, 3)),  # the last observation is missing
        ("actions", torch.zeros(B, T, dtype=torch.long)),  # batch-major
        ("episodic_counts", torch.ones(T + 1, B)),
        ("state_keys", torch.ones(T + 1, B)),
        ("episode_ids", torch.ones(T, B)),
        ("t_started", torch.ones(T)),
        ("ended", torch.ones(T, B, dtype=torch.bool)),
    ],
)
def test_shapes_that_do_not_fit_are_told(field: str, value: torch.Tensor) -> None:
    with pytest.raises(ValueError, match=field):
        Transitions(**(fields() | {field: value}))


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("obs", torch.zeros(T + 1, B, dtype=torch.long)),  # Discrete
        ("obs", torch.zeros(T + 1, B, 5)),
        ("actions", torch.zeros(T, B, 2, 3)),  # of a Box
    ],
)
def test_observations_and_actions_have_the_axes_of_their_space(
    field: str, value: torch.Tensor
) -> None:
    transitions = Transitions(**(fields() | {field: value, "mask": MASK}))
    packed = transitions.pack(getattr(transitions, field)[-T:])
    assert packed.shape == (7, *value.shape[2:])


def test_the_mask_must_be_bool() -> None:
    with pytest.raises(ValueError, match="torch.uint8"):
        Transitions(**(fields() | {"mask": torch.ones(T, B, dtype=torch.uint8)}))


def test_unpack_lays_out_what_pack_took_and_silences_even_nan() -> None:
    transitions = Transitions(**(fields() | {"mask": MASK}))
    x = torch.rand(T, B).where(MASK, torch.nan)
    packed = transitions.pack(x)
    assert packed.shape == (7,)
    assert torch.equal(transitions.unpack(packed), x.nan_to_num(0.0))
    assert torch.equal(transitions.unpack(packed.double()), x.nan_to_num(0.0).double())


def test_embed_finds_both_ends_of_each_real_transition_and_embeds_each_state_once() -> None:
    obs = torch.arange((T + 1) * B).reshape(T + 1, B, 1)
    transitions = Transitions(**(fields() | {"mask": MASK, "obs": obs}))
    calls = []

    def embedding(states: torch.Tensor) -> torch.Tensor:
        calls.append(states)
        return states + 100

    s, s_next = transitions.embed(embedding)
    assert torch.equal(s, transitions.pack(obs[:-1]) + 100)
    assert torch.equal(s_next, transitions.pack(obs[1:]) + 100)
    (states,) = calls
    assert sorted(states.flatten().tolist()) == sorted(
        t * B + b for b, length in enumerate([4, 1, 2]) for t in range(length + 1)
    )
