"""The shipped classes against what the authors' released code computed."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.utils import clip_grad_norm_

from helpers import reference
from rllib_ride.intrinsic import (
    Count,
    EpisodicCounter,
    IntrinsicMethod,
    Ride,
    Transitions,
    combine_rewards,
    hash_observations,
)

FILES = reference.reference_files()
CASES = [
    pytest.param(path, field, id=f"{path.stem}:{field}")
    for path in FILES
    for field in reference.load(path).fields(reference.CHECKED_IN_INTRINSIC)
]
each_file = pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)


@pytest.mark.parametrize(("path", "field"), CASES)
def test_equals_the_released_code(path: Path, field: str) -> None:
    ref = reference.load(path)
    ours, expected = computed(path)[field], ref[field]
    if field.startswith("weights_after_step/"):
        # A step is a thousandth of a weight: compare steps, not weights.
        before = ref[field.replace("weights_after_step", "weights")]
        ours, expected = ours - before, expected - before
    atol = 1e-6 * size_of_terms(ref, field)
    np.testing.assert_allclose(ours, expected, rtol=1e-5, atol=atol)


def size_of_terms(ref: reference.Reference, field: str) -> float:
    """The magnitude of the terms that are added or subtracted to compute the field.

    It determines the absolute tolerance: float32 rounds at about 1e-7 of the terms, however small
    the result is.
    """
    kind, _, name = field.partition("/")
    if kind == "intrinsic" and name in ("ride", "no_episodic_counts"):
        return np.abs(ref["phi"]).max()
    if kind == "total_reward":
        return ref.hparams["intrinsic_reward_coef"] * size_of_terms(ref, f"intrinsic/{name}")
    if kind == "weights_after_step":
        return 0.3 * np.abs(ref[field]).max()  # one sum: half a unit in the last place
    return np.abs(ref[field]).max()


@each_file
def test_every_field_is_an_input_or_checked(path: Path) -> None:
    ref = reference.load(path)
    kinds = (
        reference.INPUTS,
        reference.CHECKED_IN_INTRINSIC,
        reference.CHECKED_IN_LEARNER,
    )
    kinds_of = {name: [kind for kind in kinds if name in ref.fields(kind)] for name in ref.arrays}
    assert [name for name, found in kinds_of.items() if len(found) != 1] == []


@pytest.mark.parametrize(
    "path",
    [path for path in FILES if "full_obs" in reference.load(path).arrays],
    ids=lambda path: path.stem,
)
def test_counts_full_grids_like_the_released_code(path: Path) -> None:
    """Except for its fault: it counts an episode's first observation in the previous episode.

    A file's first episode has no previous one, so there its first observation does count in it.
    """
    ref = reference.load(path)
    counter = EpisodicCounter(ref["done"].shape[1])
    follows = ref["done"][0].copy()  # [B], since an episode's start; earlier counts are unknown
    for t, (full_obs, done) in enumerate(zip(ref["full_obs"], ref["done"], strict=True)):
        n_ep = counter.visit(hash_observations(full_obs))
        expected = np.round(1.0 / ref["episode_count_reward"][t] ** 2)
        np.testing.assert_array_equal(n_ep[follows], expected[follows], err_msg=f"t={t}")
        if t > 0:
            counter.reset(done)
            follows |= done


@cache
def computed(path: Path) -> dict[str, np.ndarray]:
    """This package's value of each field of the file."""
    ref = reference.load(path)
    transitions = ref.transitions()
    methods = {
        name: ref.method(name)
        for name in ("ride", "icm", "rnd", "no_episodic_counts", "only_episodic_counts")
    }
    values = networks_outputs(methods["ride"], transitions)
    values |= {f"intrinsic/{name}": method.bonus(transitions) for name, method in methods.items()}
    values["intrinsic/count"] = count_bonus(ref)
    values |= total_rewards(ref, values)
    for name in ("ride", "rnd"):
        values |= losses_and_step(ref, methods[name], transitions)
    return {name: value.detach().numpy() for name, value in values.items()}


def networks_outputs(method: Ride, transitions: Transitions) -> dict[str, Tensor]:
    obs, actions = transitions.obs, transitions.actions
    phi, phi_next = method.embedding(obs[:-1]), method.embedding(obs[1:])
    return {
        "phi": phi,
        "phi_next": phi_next,
        "forward_prediction": method.forward_model(phi, actions),
        "inverse_logits": method.inverse_model(phi, phi_next),
    }


def count_bonus(ref: reference.Reference) -> Tensor:
    """A `Count` per column: the released code has one table per actor, the paper has one in all.

    The tables are empty before the file's first observation, which is a visit too. In a file of
    pixels the counts were drawn at random, and no sequence of states leads to them. There, each
    observation is a separate state here, visited that many times.
    """
    columns = []
    for b in range(ref["actions"].shape[1]):
        if "full_obs" in ref.arrays:
            bonus = visit(Count(*ref.spaces()), hash_observations(ref["full_obs"][:, b]))
        else:
            n = np.round(1.0 / ref["train_count_reward"][:, b] ** 2).astype(int)  # [T+1]
            keys = np.repeat(np.arange(len(n), dtype=np.uint64), n)
            bonus = visit(Count(*ref.spaces()), keys)[n.cumsum() - 1]
        columns.append(bonus)
    return torch.stack(columns, dim=1)[1:]  # [T, B]


def visit(method: IntrinsicMethod, keys: NDArray[np.uint64]) -> Tensor:
    """The bonuses for reaching the states in sequence, [n]."""
    column = torch.zeros(len(keys), 1)
    transitions = Transitions(
        obs=torch.zeros(len(keys) + 1, 1),
        actions=column,
        episodic_counts=column,
        mask=torch.ones_like(column, dtype=torch.bool),
        state_keys=torch.from_numpy(keys.view(np.int64))[:, None],
        episode_ids=torch.zeros(1),
        t_started=torch.zeros(1),
    )
    return method.bonus(transitions)[:, 0]


def total_rewards(ref: reference.Reference, values: dict[str, Tensor]) -> dict[str, Tensor]:
    r_ext = torch.from_numpy(ref["reward"][1:])
    coef = ref.hparams["intrinsic_reward_coef"]
    return {
        name.replace("intrinsic/", "total_reward/"): combine_rewards(r_ext, values[name], coef)
        for name in ref.fields(("intrinsic/*",))
    }


def losses_and_step(
    ref: reference.Reference, method: IntrinsicMethod, transitions: Transitions
) -> dict[str, Tensor]:
    loss, metrics = method.loss(transitions)
    values = {name: value for name, value in metrics.items() if name != "impact"}
    optimizer = torch.optim.RMSprop(
        method.parameters(),
        lr=ref.hparams["lr"],
        alpha=ref.hparams["rmsprop_alpha"],
        eps=ref.hparams["rmsprop_eps"],
    )
    loss.backward()
    for name, network in ref.networks(method).items():
        norm = clip_grad_norm_(network.parameters(), ref.hparams["max_grad_norm"])
        values[f"grad_norm/{name}"] = norm
    optimizer.step()
    return values | ref.parameters(method, "weights_after_step")
