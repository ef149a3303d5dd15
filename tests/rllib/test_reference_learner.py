"""The RL losses of the shipped Learner against what the authors' released code computed.

The V-trace, policy, value and entropy losses are RLlib's own; this checks that the Learner scales
them, and hands them its batch, as the released code does.
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
from helpers.learners import table_learner

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
    """Everything the Learner makes of a file's total rewards for one method, by field name."""
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
            losses = learner.compute_losses(
                fwd_out=fwd_out, batch={DEFAULT_MODULE_ID: batch}
            )
        losses[DEFAULT_MODULE_ID].backward()

        def logged(name: str) -> float:
            return float(torch.as_tensor(learner.metrics.peek((DEFAULT_MODULE_ID, name))).detach())

        num_steps = len(ref["actions"]) - 1
        parts = {
            "pg_loss": num_steps * logged("mean_pi_loss"),
            "baseline_loss": num_steps * hparams["baseline_cost"] * logged("mean_vf_loss"),
            "entropy_loss": -num_steps * hparams["entropy_cost"] * logged(ENTROPY_KEY),
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
