"""The policy in a checkpoint, ready to play."""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gymnasium as gym
from ray.rllib.core.rl_module.torch import TorchRLModule

import rllib_ride  # noqa: F401 (registers the environments)
from rllib_ride.envs.catalog import evaluation_options
from rllib_ride.rllib.ray_internals import checkpoint_config, checkpoint_frames, module_folder

UNREADABLE = (
    AttributeError,  # a class that is not where it was
    EOFError,
    KeyError,
    OSError,
    RuntimeError,  # weights of other shapes
    TypeError,
    ValueError,  # no JSON
    pickle.UnpicklingError,
)
"""What reading a folder that is no whole checkpoint of this version can raise."""

_MINIGRIDS = "rllib_ride.envs.entry_points"
_SEEN = ("observation", "agent_view_size", "see_through_walls")
"""Options of MiniGrid environments that decide what a policy sees."""


@dataclass(frozen=True)
class Policy:
    """A trained policy and where it plays.

    Attributes:
        module: The policy's RLModule alone, in inference mode.
        env: Environment id.
        env_options: Keyword arguments of the environment.
        frames_trained: Transitions it was trained on.
        trained_in: Id of the environment they were of.
        normalize_actions: RLlib's setting of the same name, as is `clip_actions`: what becomes of
            the policy's action before the environment is given it.
        clip_actions: See `normalize_actions`.
    """

    module: TorchRLModule
    env: str
    env_options: dict[str, Any]
    frames_trained: int
    trained_in: str = ""
    normalize_actions: bool = True
    clip_actions: bool = False

    def make_env(self, num_envs: int) -> gym.vector.VectorEnv:
        """So many environments to play in."""
        return gym.make_vec(self.env, num_envs=num_envs, **self.env_options)


def load_policy(checkpoint: Path, env: str | None = None) -> Policy:
    """The policy in a checkpoint of RLlib's algorithm; neither Learner nor EnvRunner is built.

    Args:
        checkpoint: A folder that `Algorithm.save_to_path` or a trial wrote, `checkpoint_000003`.
        env: Environment to play in; None: the one it was trained in, with its options. Another has
            its own options, but for what a policy sees of a MiniGrid level.

    Raises:
        ValueError: No such checkpoint, or an environment unknown or of other spaces.
    """
    module_path = module_folder(checkpoint)
    if not module_path.is_dir():
        there = sorted(path.name for path in checkpoint.glob("checkpoint_*"))
        hint = f"; did you mean {checkpoint / there[-1]}?" if there else ""
        raise ValueError(f"{checkpoint}: no checkpoint of a trial or RLlib algorithm{hint}")
    try:
        module = TorchRLModule.from_checkpoint(str(module_path.resolve()))
        config = checkpoint_config(checkpoint)
        trained_in, options = config["env"], dict(config["env_config"])
        frames_trained = checkpoint_frames(checkpoint)
    except ImportError as error:
        raise ValueError(f"{checkpoint}: it needs what cannot be imported here: {error}") from error
    except UNREADABLE as error:
        raise ValueError(
            f"{checkpoint}: not a whole checkpoint: {type(error).__name__}: {error}"
        ) from error
    module.eval()
    policy = Policy(
        module=module,
        env=env or trained_in,
        env_options={
            **(options if env in (None, trained_in) else _what_is_seen(options, env)),
            **evaluation_options(env or trained_in),
        },
        frames_trained=frames_trained,
        trained_in=trained_in,
        normalize_actions=config["normalize_actions"],
        clip_actions=config["clip_actions"],
    )
    _check_spaces(policy)
    return policy


def _what_is_seen(options: dict[str, Any], env: str) -> dict[str, Any]:
    spec = gym.registry.get(env)
    is_minigrid = spec is not None and spec.vector_entry_point == f"{_MINIGRIDS}:{env}"
    return {key: options[key] for key in _SEEN if key in options} if is_minigrid else {}


def _check_spaces(policy: Policy) -> None:
    try:
        env = policy.make_env(num_envs=1)
    except (gym.error.Error, TypeError) as error:  # a package is missing, say, or an option
        raise ValueError(f"environment {policy.env}: {error}") from error
    spaces = {"observation": env.single_observation_space, "action": env.single_action_space}
    env.close()
    for kind, space in spaces.items():
        wanted = getattr(policy.module, f"{kind}_space")
        if space != wanted:
            raise ValueError(
                f"environment {policy.env} has the {kind} space {space}; the policy was trained "
                f"with {wanted}"
            )
