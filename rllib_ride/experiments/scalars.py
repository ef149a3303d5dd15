"""The few metrics of a result that people look at, under short names.

RLlib's result nests about a hundred. TensorBoard and W&B get these instead.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ray.rllib.core import DEFAULT_MODULE_ID
from ray.rllib.utils.metrics import LEARNER_RESULTS

from rllib_ride.experiments.progress import Progress
from rllib_ride.rllib.settings import INTRINSIC_MODULE_ID, PARTS_OF_LOSS, SKIPPED_UPDATES

_OF_THE_POLICY = {
    "total_loss": "total_loss",
    **PARTS_OF_LOSS,
    SKIPPED_UPDATES: "skipped_updates",
}
# Prefixes of metrics that RLlib adds itself, and affixes of those it names after an optimizer:
# `<optimizer>_learning_rate`, `gradients_<optimizer>_global_norm`.
_RLLIBS_OWN = ("num_", "module_train_batch", "weights_seq_no", "curr_entropy_coeff")
_LEARNING_RATE, _GRADIENTS, _NORM = "_learning_rate", "gradients_", "_global_norm"


def scalars(result: Mapping[str, Any]) -> dict[str, float]:
    """Progress, losses, learning rates and gradient norms, without those that are NaN.

    A method's own metrics, such as `inverse_loss`, keep their names under `intrinsic/`.
    """
    learners = result.get(LEARNER_RESULTS, {})
    policy = learners.get(DEFAULT_MODULE_ID, {})
    found: dict[str, Any] = dict(vars(Progress.of(result)))
    for key, name in _OF_THE_POLICY.items():
        if key in policy:
            found[f"policy/{name}"] = policy[key]
    for module in (DEFAULT_MODULE_ID, INTRINSIC_MODULE_ID):
        for key, value in learners.get(module, {}).items():
            if key.endswith(_LEARNING_RATE):
                found[f"learning_rate/{key.removesuffix(_LEARNING_RATE)}"] = value
            elif key.startswith(_GRADIENTS):
                network = key.removeprefix(_GRADIENTS).removesuffix(_NORM)
                found[f"gradient_norm/{network}"] = value
            elif module == INTRINSIC_MODULE_ID and not key.startswith(_RLLIBS_OWN):
                found[f"intrinsic/{key}"] = value
    found.pop("intrinsic/intrinsic_reward_mean", None)  # already part of the progress
    return {name: value for name, value in found.items() if _is_number(value)}


def _is_number(value: Any) -> bool:
    try:
        number = float(value)
    except (TypeError, ValueError):
        return False
    return number == number and not isinstance(value, str)
