"""Complete configs by name: the paper's text, the authors' released code, and a tuned one.

| | paper | released | tuned |
|---|---|---|---|
| policy network | 3 convolutions, LSTM 256 | + 2 x 1024, LSTM 2 x 1024 | as paper |
| policy's learning rate | 1e-4 to 0 over the run | as paper | 4e-4 to 0 over 1e8 frames |
| other networks' rate | 1e-4 | 1e-4 | 1e-4; harder tasks 2.5e-5 |
| RMSProp epsilon | 0.01 | 1e-5 | 1e-5 |
| unroll length, T | 100 | 100 | 64 |
| sequences a batch, B | 32 | 32 | 32 |
| counts of N_ep | full grid | full grid | full grid |

All: IMPALA, discount 0.99, RMSProp smoothing 0.99 and momentum 0, gradient norm 40 for each
network, value loss 0.5 * 0.5, losses summed over time, rewards clipped to [-1, 1], a time limit is
terminal.
Source: the paper's appendix A.2; what it leaves open follows the released code.
"""

from __future__ import annotations

import dataclasses
import difflib
import math
from collections.abc import Mapping
from typing import Any

from ray.rllib.algorithms.impala import IMPALAConfig
from ray.rllib.core.rl_module.rl_module import RLModuleSpec

from rllib_ride.rllib.config import add_intrinsic_reward
from rllib_ride.rllib.policy import RecurrentPolicy
from rllib_ride.rllib.settings import IntrinsicSettings


@dataclasses.dataclass(frozen=True)
class Preset:
    """What differs between the presets, or is searched over; the rest is in `make_config`.

    Attributes:
        network: Of the policy, `paper` or `released`.
        lr: Learning rate that the policy starts with; it is annealed to 0.
        anneal_frames: Frames over which it is; None: the run's own.
        harder_intrinsic_lr: Rate of the intrinsic networks on the paper's harder tasks, unless
            `intrinsic` has one. With 1e-4 and an epsilon of 1e-5, RIDE's bonus is gone before
            N10-S10 is learned: docs/reproduction.md.
        rmsprop_eps: Epsilon of RMSProp, of all networks.
        unroll_length: Transitions a sequence, T.
        num_envs: Environments, and so sequences a batch, B: an update is of B x T transitions.

    Raises:
        ValueError: If a value is none that can be trained with.
    """

    network: str = "paper"
    lr: float = 1e-4
    anneal_frames: float | None = None
    harder_intrinsic_lr: float = IntrinsicSettings.lr
    rmsprop_eps: float = 0.01
    unroll_length: int = 100
    num_envs: int = 32

    def __post_init__(self) -> None:
        if self.network not in ("paper", "released"):
            raise ValueError(f"network={self.network!r} is unknown; use 'paper' or 'released'")
        for name, value in dataclasses.asdict(self).items():
            if name == "network" or (name == "anneal_frames" and value is None):
                continue
            if isinstance(value, bool) or not isinstance(value, int | float):
                raise ValueError(f"{name}={value!r} must be a number")
            if not 0 < value < math.inf:
                raise ValueError(f"{name}={value!r} must be above 0")
            if name in ("unroll_length", "num_envs") and not isinstance(value, int):
                raise ValueError(f"{name}={value!r} must be a whole number")


_PRESETS = {
    "paper": Preset(),
    "released": Preset(network="released", rmsprop_eps=1e-5),
    "tuned": Preset(
        lr=4e-4,
        anneal_frames=1e8,
        harder_intrinsic_lr=2.5e-5,
        rmsprop_eps=1e-5,
        unroll_length=64,
    ),
}

# Coefficient of the bonus and of the policy's entropy: the paper's appendix A.2, below table 2.
# The baselines': "on all environments".
_OF_THE_OTHERS = {"icm": (0.1, 0.0001), "rnd": (0.1, 0.0001), "count": (0.005, 0.0001)}

# The group of tasks that the text gives larger coefficients.
_HARDER = (
    "MiniGrid-MultiRoom-N7-S8-v0",
    "MiniGrid-MultiRoom-N10-S10-v0",
    "MiniGrid-MultiRoom-N12-S10-v0",
    "MiniGrid-ObstructedMaze-2Dlh-v0",
)

# RIDE's by task, which its ablations share: the text has these eight.
_OF_RIDE = {
    "MiniGrid-MultiRoom-N7-S4-v0": (0.1, 0.0005),
    "MiniGrid-MultiRoomNoisyTV-N7-S4-v0": (0.1, 0.0005),
    "MiniGrid-MultiRoom-N10-S4-v0": (0.1, 0.0005),
    "MiniGrid-KeyCorridorS3R3-v0": (0.1, 0.0005),
    **dict.fromkeys(_HARDER, (0.5, 0.001)),
}

# Elsewhere, and that is in the paper's other experiments too: the text has none.
_OF_RIDE_ELSEWHERE = _OF_RIDE["MiniGrid-MultiRoom-N7-S4-v0"]


def presets() -> list[str]:
    """The names that `make_config` knows."""
    return list(_PRESETS)


def make_config(
    *,
    preset: str,
    method: str,
    env: str,
    env_options: Mapping[str, Any] | None = None,
    frames: float,
    seed: int | None = None,
    intrinsic: Mapping[str, Any] | None = None,
    values: Mapping[str, Any] | None = None,
) -> IMPALAConfig:
    """A config that trains in one process: `num_env_runners=0`, the learner beside it.

    Args:
        preset: One of `presets()`.
        method: One of `rllib_ride.methods()`.
        env: Environment ID.
        env_options: Keyword arguments of the environment.
        frames: Length of the run, over which the paper anneals the policy's learning rate.
        seed: Of environments, networks and actions.
        intrinsic: More of `add_intrinsic_reward`'s settings; they win over the preset's.
        values: Fields of `Preset` to have in place of the preset's own.

    Raises:
        ValueError: If a name or a setting is unknown, or the environment not supported.
    """
    if preset not in _PRESETS:
        nearest = difflib.get_close_matches(preset, _PRESETS, n=1)
        hint = f"; did you mean {nearest[0]!r}?" if nearest else ""
        raise ValueError(f"unknown preset {preset!r}, want one of {', '.join(_PRESETS)}{hint}")
    chosen = dataclasses.replace(_PRESETS[preset], **(values or {}))
    coef, entropy_coeff = _coefficients(method, env)

    config = (
        IMPALAConfig()
        .environment(env, env_config=dict(env_options or {}))
        .env_runners(
            num_env_runners=0,
            num_envs_per_env_runner=chosen.num_envs,
            rollout_fragment_length=chosen.unroll_length,
        )
        .learners(num_learners=0)
        .training(
            gamma=0.99,
            lr=[[0, chosen.lr], [int(chosen.anneal_frames or frames), 0.0]],
            grad_clip=40.0,
            grad_clip_by="global_norm",
            train_batch_size_per_learner=chosen.num_envs * chosen.unroll_length,
            vf_loss_coeff=0.5,
            entropy_coeff=entropy_coeff,
            num_epochs=1,
        )
        .rl_module(
            rl_module_spec=RLModuleSpec(
                module_class=RecurrentPolicy, model_config={"network": chosen.network}
            )
        )
        .reporting(metrics_num_episodes_for_smoothing=100, min_time_s_per_iteration=2)
        .debugging(seed=seed)
    )
    settings: dict[str, Any] = {
        "coef": coef,
        "sum_over_time": True,
        "rmsprop": {"alpha": 0.99, "eps": chosen.rmsprop_eps, "momentum": 0.0},
    }
    if env in _HARDER:
        settings["lr"] = chosen.harder_intrinsic_lr
    add_intrinsic_reward(config, method=method, **{**settings, **(intrinsic or {})})
    return config


def _coefficients(method: str, env: str) -> tuple[float, float]:
    """Of the bonus and of the policy's entropy, as the paper's grid search found them.

    Methods that the text gives none for, plain IMPALA and those not of the paper, have RIDE's.
    """
    if method in _OF_THE_OTHERS:
        return _OF_THE_OTHERS[method]
    return _OF_RIDE.get(env, _OF_RIDE_ELSEWHERE)
