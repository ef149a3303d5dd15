"""Settings of an intrinsic reward, and the names it uses in batches, metrics and configs."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from ray.rllib.algorithms.algorithm_config import AlgorithmConfig

INTRINSIC_MODULE_ID = "intrinsic"
"""Module ID of the intrinsic networks; the policy's is RLlib's `default_policy`."""

INTRINSIC_REWARDS = "intrinsic_rewards"
"""Batch column: the bonus before its coefficient, `[B, T + 1]`, zero where no action was taken."""

EPISODIC_COUNTS = "episodic_counts"
"""Batch column: N_ep of the state each transition led to, including this visit."""

STATE_KEYS = "state_keys"
"""Batch column: the 64-bit key of the state each transition led to."""

EPISODE_IDS = "episode_ids"
"""Batch column: a 64-bit number for the episode that each row is a piece of, `[B]`."""

T_STARTED = "t_started"
"""Batch column: the step of its episode at which each row begins, `[B]`."""

ENV_FRAMES = "env_frames_lifetime"
"""Metric of games: frames shown so far; an action that is repeated takes several."""

SKIPPED_UPDATES = "skipped_updates"
"""Metric of the policy: updates skipped so far because of a number that was not finite."""

PARTS_OF_LOSS: Mapping[str, str] = {
    "policy_loss": "policy_loss",
    "vf_loss": "value_loss",
    # IMPALA's `vf_loss` is a sum. It also logs `mean_vf_loss`, which wins because it comes later.
    "mean_pi_loss": "policy_loss",
    "mean_vf_loss": "value_loss",
    "entropy": "entropy",
    "mean_kl_loss": "kl_loss",
}
"""Metrics of the policy's loss: names in IMPALA, APPO and PPO, mapped to this package's names."""

_KEY_IN_LEARNER_CONFIG = "intrinsic"

PAPER_RMSPROP: Mapping[str, Any] = {"alpha": 0.99, "eps": 0.01, "momentum": 0.0}
"""RMSProp as in the paper's table 2 (the released code's epsilon is 1e-5)."""


@dataclasses.dataclass(frozen=True)
class IntrinsicSettings:
    """Settings of `add_intrinsic_reward`.

    The defaults are those of the paper (appendix A.2) and its code, with three exceptions: `counts`
    works in any environment, and `sum_over_time` and `rmsprop` keep RLlib's loss and the policy's
    optimizer. `add_intrinsic_reward` chooses `"full"` counts if the environment reports state keys.
    The IMPALA presets set the other two as in the paper.

    Attributes:
        method: Name of a registered method, or `"none"` for the same Learner without a bonus.
        coef: Weight of the bonus in the reward, w_ir of the paper's table 2.
        counts: What identifies a state for N_ep and for the method Count. `"full"`: the
            environment's `state_key` in its infos (MiniGrid's covers the whole grid and the agent).
            `"view"`: the observation. `"none"`: nothing, N_ep is always 1. If the method reads
            neither keys nor counts, nothing is counted.
        observation_key: Entry of a Dict observation that the intrinsic networks and `"view"` counts
            see. None: the first of `"image"`, `"observations"` and `"observation"` that exists, or
            the only entry. Observations that are no Dict are seen whole.
        extrinsic_reward: Whether the policy learns from the environment's reward. If not, it learns
            from the bonus alone; the logged returns are still the environment's.
        lr: Learning rate of the intrinsic networks; never annealed.
        reward_clip: Clips the summed reward to `[-reward_clip, reward_clip]`; None: no clip.
        time_limit_is_terminal: Whether a time limit counts as terminal, as in the paper's code. If
            not, the return is bootstrapped from the value of the last state.
        sum_over_time: Whether the RL loss is a sum over time and a mean over sequences, as in the
            paper's code, or RLlib's mean over both. With gradient clipping, rescaling the learning
            rate does not make up for the difference.
        rmsprop: Arguments of `torch.optim.RMSprop` for all networks. None: the policy keeps RLlib's
            optimizer, and the intrinsic networks use the paper's values.
        method_config: Keyword arguments of the method's class.
        on_nonfinite: What to do if a loss, the bonus or a gradient is not finite: `"stop"` with an
            error that names it, or `"skip"` the update and count it.
    """

    method: str = "ride"
    coef: float = 0.1
    counts: Literal["full", "view", "none"] = "view"
    observation_key: str | None = None
    extrinsic_reward: bool = True
    lr: float = 1e-4
    reward_clip: float | None = 1.0
    time_limit_is_terminal: bool = True
    sum_over_time: bool = False
    rmsprop: Mapping[str, Any] | None = None
    method_config: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    on_nonfinite: Literal["stop", "skip"] = "stop"

    def __post_init__(self) -> None:
        if self.counts not in ("full", "view", "none"):
            raise ValueError(f"counts={self.counts!r} is unknown; use 'full', 'view' or 'none'")
        if self.on_nonfinite not in ("stop", "skip"):
            raise ValueError(f"on_nonfinite={self.on_nonfinite!r} is unknown; use 'stop' or 'skip'")
        _check_number("coef", self.coef, least=0.0)
        _check_number("lr", self.lr, above=0.0)
        if self.reward_clip is not None:
            _check_number("reward_clip", self.reward_clip, above=0.0)
        for name in ("time_limit_is_terminal", "sum_over_time", "extrinsic_reward"):
            if not isinstance(getattr(self, name), bool):
                raise ValueError(f"{name}={getattr(self, name)!r} must be True or False")
        for name in ("rmsprop", "method_config"):
            if not isinstance(getattr(self, name) or {}, Mapping):
                raise ValueError(f"{name}={getattr(self, name)!r} must hold keys and values")
        for name in self.rmsprop or {}:
            if name not in PAPER_RMSPROP:
                raise ValueError(
                    f"rmsprop: unknown key {name!r}, expected some of {', '.join(PAPER_RMSPROP)}"
                )

    @property
    def has_bonus(self) -> bool:
        """Whether there is an intrinsic module."""
        return self.method != "none"

    def store_in(self, config: AlgorithmConfig) -> None:
        """Stores these settings in `learner_config_dict`, where Learner and EnvRunner find them."""
        config.learners(
            learner_config_dict={
                **config.learner_config_dict,
                _KEY_IN_LEARNER_CONFIG: dataclasses.asdict(self),
            }
        )

    @staticmethod
    def are_in(config: AlgorithmConfig) -> bool:
        """Whether a config holds settings from `store_in`."""
        return _KEY_IN_LEARNER_CONFIG in config.learner_config_dict

    @classmethod
    def of(cls, config: AlgorithmConfig) -> IntrinsicSettings:
        """Reads the settings that `store_in` stored in a config.

        Raises:
            ValueError: If the config has none.
        """
        try:
            stored = config.learner_config_dict[_KEY_IN_LEARNER_CONFIG]
        except KeyError:
            raise ValueError(
                "this config has no intrinsic reward: build it with "
                "rllib_ride.add_intrinsic_reward(config, method=...)"
            ) from None
        return cls(**stored)


def _check_number(
    name: str, value: Any, *, least: float = -math.inf, above: float = -math.inf
) -> None:
    bound = f"at least {least:g}" if least > -math.inf else f"above {above:g}"
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"{name}={value!r} must be a number {bound}")
    if not (math.isfinite(value) and value >= least and value > above):
        raise ValueError(f"{name}={value!r} must be {bound}")
