"""Compares the shipped Learner's RL losses with those of the authors' released code.

The V-trace, policy, value and entropy losses are RLlib's own; this checks that the Learner scales
them and lays out their batch as the released code does.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest
import torch
from ray.rllib.algorithms.impala.torch import impala_torch_learner
from ray.rllib.core import DEFAULT_MODULE_ID
from ray.rllib.core.columns import Columns
from ray.rllib.core.learner.learner import ENTROPY_KEY

from helpers import reference
from helpers.learners import logged, table_learner
from rllib_ride.rllib.settings import (
    EPISODE_IDS,
    EPISODIC_COUNTS,
    INTRINSIC_MODULE_ID,
    STATE_KEYS,
    T_STARTED,
    IntrinsicSettings,
)

CASES = [
    pytest.param(path, field, id=f"{path.stem}:{field}")
    for path in reference.reference_files()
    for field in reference.load(path).fields(reference.CHECKED_IN_LEARNER)
]


@pytest.mark.parametrize(("path", "field"), CASES)
def test_equals_the_released_code(path: Path, field: str) -> None:
    name, method = field.split("/")
    expected, ours = reference.load(path)[field], computed(path, method)[name]
    # Float32 sums: the absolute tolerance is relative to the array's largest entry.
    np.testing.assert_allclose(ours, expected, rtol=1e-5, atol=1e-6 * np.abs(expected).max())


@cache
def computed(path: Path, method: str) -> dict[str, np.ndarray]:
    """All that the Learner computes from a file's total rewards for one method, by field name."""
    ref = reference.load(path)
    hparams = ref.hparams
    learner = table_learner(
        logits=ref["target_logits"].swapaxes(0, 1),
        values=ref["values"].swapaxes(0, 1),
        gamma=hparams["discount"],
        vf_loss_coeff=hparams["baseline_cost"],
        entropy_coeff=hparams["entropy_cost"],
    )
    try:
        batch = _rllib_batch(ref, method)
        policy = learner.module[DEFAULT_MODULE_ID]
        traced = {}
        vtrace = impala_torch_learner.vtrace_torch

        def record(**kwargs: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            traced["vs"], traced["advantages"] = vtrace(**kwargs)
            return traced["vs"], traced["advantages"]

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(impala_torch_learner, "vtrace_torch", record)
            fwd_out = learner.module.forward_train({DEFAULT_MODULE_ID: batch})
            losses = learner.compute_losses(fwd_out=fwd_out, batch={DEFAULT_MODULE_ID: batch})
        losses[DEFAULT_MODULE_ID].backward()

        num_steps = len(ref["actions"]) - 1
        parts = {
            "pg_loss": num_steps * logged(learner, DEFAULT_MODULE_ID, "mean_pi_loss"),
            "baseline_loss": num_steps
            * hparams["baseline_cost"]
            * logged(learner, DEFAULT_MODULE_ID, "mean_vf_loss"),
            "entropy_loss": -num_steps
            * hparams["entropy_cost"]
            * logged(learner, DEFAULT_MODULE_ID, ENTROPY_KEY),
        }
        assert losses[DEFAULT_MODULE_ID].item() == pytest.approx(sum(parts.values()), rel=1e-5)
        return {
            **{name: np.asarray(value) for name, value in parts.items()},
            "vtrace_vs": traced["vs"][:-1].numpy(),
            "vtrace_pg_advantages": traced["advantages"][:-1].numpy(),
            "grad_target_logits": policy.logits.grad.swapaxes(0, 1).numpy(),
            "grad_values": policy.values.grad.swapaxes(0, 1).numpy(),
        }
    finally:
        learner.shutdown()


@pytest.mark.parametrize(
    "name", ["ride", "icm", "rnd", "no_episodic_counts", "only_episodic_counts"]
)
@pytest.mark.parametrize("path", reference.reference_files(), ids=lambda path: path.stem)
def test_the_learner_takes_the_released_step(path: Path, name: str) -> None:
    """Bonus, total reward, each network's gradient norm, clip and RMSProp step, in the Learner."""
    ref = reference.load(path)
    hparams = ref.hparams
    settings = IntrinsicSettings(
        method=name,
        coef=hparams["intrinsic_reward_coef"],
        lr=hparams["lr"],
        sum_over_time=True,
        rmsprop={"alpha": hparams["rmsprop_alpha"], "eps": hparams["rmsprop_eps"]},
        method_config=ref.method_config(name),
    )
    method = ref.method(name)
    learner = table_learner(
        logits=ref["target_logits"].swapaxes(0, 1),
        values=ref["values"].swapaxes(0, 1),
        observation_space=method.observation_space,
        settings=settings,
        grad_clip=hparams["max_grad_norm"],
        grad_clip_by="global_norm",
    )
    try:
        intrinsic = learner.module[INTRINSIC_MODULE_ID]
        intrinsic.method.load_state_dict(method.state_dict())
        batch = _rllib_batch(ref, name)
        transitions = ref.transitions()
        batch[Columns.OBS] = transitions.obs.transpose(0, 1)
        batch[EPISODIC_COUNTS] = torch.nn.functional.pad(transitions.episodic_counts.T, (0, 1))
        batch[STATE_KEYS] = torch.zeros_like(batch[EPISODIC_COUNTS], dtype=torch.long)
        batch[EPISODE_IDS], batch[T_STARTED] = transitions.episode_ids, transitions.t_started
        batch[Columns.REWARDS] = torch.nn.functional.pad(
            torch.as_tensor(ref["reward"][1:]).T, (0, 1)
        )

        batches = {DEFAULT_MODULE_ID: batch, INTRINSIC_MODULE_ID: batch}
        losses = learner.compute_losses(
            fwd_out=learner.module.forward_train(batches), batch=batches
        )
        np.testing.assert_allclose(
            batch[Columns.REWARDS][:, :-1].T, ref[f"total_reward/{name}"], rtol=1e-5, atol=1e-6
        )
        gradients = learner.compute_gradients(losses)
        learner.apply_gradients(learner.postprocess_gradients(gradients))

        own_names = {network: own for own, network in intrinsic.method.named_children()}
        for theirs, network in ref.networks(intrinsic.method).items():
            if f"grad_norm/{theirs}" in ref.arrays:  # the released code freezes the target too
                own = own_names[network]
                norm = logged(learner, INTRINSIC_MODULE_ID, f"gradients_{own}_global_norm")
                assert norm == pytest.approx(float(ref[f"grad_norm/{theirs}"]), rel=1e-5)
        for field, parameter in ref.parameters(intrinsic.method, "weights_after_step").items():
            before = ref[field.replace("weights_after_step", "weights")]
            # Steps are a thousandth of the weights: compare steps, up to the weights' rounding.
            np.testing.assert_allclose(
                parameter.detach().numpy() - before,
                ref[field] - before,
                rtol=1e-5,
                atol=3e-7 * np.abs(before).max(),
            )
    finally:
        learner.shutdown()


def _rllib_batch(ref: reference.Reference, method: str) -> dict[str, torch.Tensor]:
    """A file's fields as RLlib's columns [B, T + 1]: the last entry is the bootstrap step."""

    def column(x: np.ndarray, last: float) -> torch.Tensor:
        """[T, B] -> [B, T + 1]."""
        return torch.nn.functional.pad(torch.as_tensor(x).T, (0, 1), value=last)

    actions = torch.as_tensor(ref["actions"][1:])
    behaviour = torch.distributions.Categorical(logits=torch.as_tensor(ref["behaviour_logits"][1:]))
    num_steps, num_rows = actions.shape
    return {
        Columns.ACTIONS: column(actions, 0),
        Columns.ACTION_LOGP: column(behaviour.log_prob(actions), 1e9),
        Columns.REWARDS: column(ref[f"total_reward/{method}"], 0.0),
        Columns.TERMINATEDS: column(ref["done"][1:], False),
        Columns.LOSS_MASK: column(np.ones((num_steps, num_rows), bool), False),
        Columns.SEQ_LENS: torch.full((num_rows,), num_steps + 1),
    }
