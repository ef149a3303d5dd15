"""Loads the policy of a checkpoint, ready to play."""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gymnasium as gym
from ray.rllib.core import DEFAULT_MODULE_ID
from ray.rllib.core.rl_module.torch import TorchRLModule

import rllib_ride  # noqa: F401 (registers the environments)
from rllib_ride.envs.catalog import evaluation_options
from rllib_ride.envs.registration import is_minigrid
from rllib_ride.rllib.policy import RecurrentPolicy
from rllib_ride.rllib.ray_internals import checkpoint_config, checkpoint_frames, module_folder
from rllib_ride.rllib.weights import load_weights
from rllib_ride.seal import SEAL_FILE, space_text, verified

UNREADABLE = (
    AttributeError,  # a class that has moved
    EOFError,
    KeyError,
    OSError,
    RuntimeError,  # weights of other shapes
    TypeError,
    ValueError,  # no JSON
    pickle.UnpicklingError,
)
"""Exceptions of reading a folder that is not a complete checkpoint of this version."""

_SEEN = ("observation", "agent_view_size", "see_through_walls")
"""Options of MiniGrid environments that determine the observations."""


@dataclass(frozen=True)
class Policy:
    """A trained policy and the environment in which it plays.

    Attributes:
        module: The policy's RLModule, in inference mode.
        env: Environment id.
        env_options: Keyword arguments of the environment.
        frames_trained: Transitions it was trained on.
        trained_in: Id of the environment it was trained in.
        normalize_actions: RLlib's setting: whether actions are unsquashed for the environment.
        clip_actions: RLlib's setting: whether actions are clipped for the environment.
    """

    module: TorchRLModule
    env: str
    env_options: dict[str, Any]
    frames_trained: int
    trained_in: str = ""
    normalize_actions: bool = True
    clip_actions: bool = False

    def make_env(self, num_envs: int) -> gym.vector.VectorEnv:
        """Makes a vector of environments to play in."""
        return gym.make_vec(self.env, num_envs=num_envs, **self.env_options)


def load_policy(checkpoint: Path, env: str | None = None) -> Policy:
    """Loads the policy of an Algorithm's checkpoint without building a Learner or EnvRunner.

    If the checkpoint has a seal and separate weights, as trials write, nothing is unpickled.

    Args:
        checkpoint: A folder that `Algorithm.save_to_path` or a trial wrote, `checkpoint_000003`.
        env: Environment to play in; None: the one it was trained in, with its options. Another one
            has its own options, but keeps those that determine MiniGrid's observations.

    Raises:
        ValueError: The checkpoint is missing or incomplete, or the environment is unknown or has
            other spaces.
    """
    if not module_folder(checkpoint).is_dir():
        there = sorted(path.name for path in checkpoint.glob("checkpoint_*"))
        hint = f"; did you mean {checkpoint / there[-1]}?" if there else ""
        raise ValueError(f"{checkpoint}: no checkpoint of a trial or RLlib algorithm{hint}")
    seal = seal_with_weights(checkpoint)
    try:
        return _load_by_rllib(checkpoint, env) if seal is None else _load(checkpoint, seal, env)
    except _CannotPlay:
        raise
    except ImportError as error:
        raise ValueError(f"{checkpoint}: it needs what cannot be imported here: {error}") from error
    except UNREADABLE as error:
        raise ValueError(
            f"{checkpoint}: not a whole checkpoint: {type(error).__name__}: {error}"
        ) from error


def seal_with_weights(checkpoint: Path) -> dict[str, Any] | None:
    """The seal of a checkpoint whose weights need no unpickling; None if they do.

    Raises:
        ValueError: The checkpoint does not match its seal.
    """
    if not (checkpoint / SEAL_FILE).exists():
        return None
    seal = verified(checkpoint)
    return seal if seal["format"] >= 1 else None


class _CannotPlay(ValueError):
    """The environment cannot be made, or does not fit the policy."""


def _load(checkpoint: Path, seal: Mapping[str, Any], env: str | None) -> Policy:
    """Loads PyTorch's weights into the network that the seal describes."""
    play_env, play_options = _where(env, seal["env"], seal["env_options"])
    spaces = _spaces_of(play_env, play_options)
    for kind, space in spaces.items():
        _check_space(kind, space_text(space), seal[f"{kind}_space"], play_env)
    module = RecurrentPolicy(
        observation_space=spaces["observation"],
        action_space=spaces["action"],
        model_config=seal["modules"][DEFAULT_MODULE_ID],
    )
    module.load_state_dict(load_weights(checkpoint))
    module.eval()
    return Policy(module, play_env, play_options, seal["frames"], trained_in=seal["env"])


def _load_by_rllib(checkpoint: Path, env: str | None) -> Policy:
    """Loads RLlib's own files, which are pickles: they can run arbitrary code."""
    module = TorchRLModule.from_checkpoint(str(module_folder(checkpoint).resolve()))
    config = checkpoint_config(checkpoint)
    frames_trained = checkpoint_frames(checkpoint)
    play_env, play_options = _where(env, config["env"], config["env_config"])
    module.eval()
    policy = Policy(
        module=module,
        env=play_env,
        env_options=play_options,
        frames_trained=frames_trained,
        trained_in=config["env"],
        normalize_actions=config["normalize_actions"],
        clip_actions=config["clip_actions"],
    )
    for kind, space in _spaces_of(play_env, play_options).items():
        _check_space(kind, space, getattr(module, f"{kind}_space"), play_env)
    return policy


def _where(
    env: str | None, trained_in: str, options: Mapping[str, Any]
) -> tuple[str, dict[str, Any]]:
    """The environment to play in, with its options."""
    if env in (None, trained_in):
        return trained_in, {**options, **evaluation_options(trained_in)}
    return env, {**_what_is_seen(options, env), **evaluation_options(env)}


def _what_is_seen(options: Mapping[str, Any], env: str) -> dict[str, Any]:
    return {key: options[key] for key in _SEEN if key in options} if is_minigrid(env) else {}


def _spaces_of(env: str, options: Mapping[str, Any]) -> dict[str, gym.Space]:
    try:
        made = gym.make_vec(env, num_envs=1, **options)
    except Exception as error:  # a missing package or bad option raises any type
        raise _CannotPlay(f"environment {env}: {error}") from error
    spaces = {"observation": made.single_observation_space, "action": made.single_action_space}
    made.close()
    return spaces


def _check_space(kind: str, space: Any, wanted: Any, env: str) -> None:
    if space != wanted:
        raise _CannotPlay(
            f"environment {env} has the {kind} space {space}; the policy was trained with {wanted}"
        )
