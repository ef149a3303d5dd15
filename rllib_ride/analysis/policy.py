"""The policy in a checkpoint, ready to play."""

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

    Of a checkpoint with weights under a seal, which trials write, nothing is unpickled.

    Args:
        checkpoint: A folder that `Algorithm.save_to_path` or a trial wrote, `checkpoint_000003`.
        env: Environment to play in; None: the one it was trained in, with its options. Another has
            its own options, but for what a policy sees of a MiniGrid level.

    Raises:
        ValueError: No such checkpoint, one that is not whole, or an environment unknown or of other
            spaces.
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
    """The seal of a whole checkpoint whose weights need no unpickling; None if they do.

    Raises:
        ValueError: The checkpoint has a seal, but is not what was sealed.
    """
    if not (checkpoint / SEAL_FILE).exists():
        return None
    seal = verified(checkpoint)
    return seal if seal["format"] >= 1 else None


class _CannotPlay(ValueError):
    """The environment cannot be made, or is not one that the policy can play in."""


def _load(checkpoint: Path, seal: Mapping[str, Any], env: str | None) -> Policy:
    """By PyTorch's weights and the seal's description."""
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
    """By RLlib's own files, which are pickles: whoever wrote them chooses what runs here."""
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
    except Exception as error:  # a package is missing, say, or an option: of any type of its own
        raise _CannotPlay(f"environment {env}: {error}") from error
    spaces = {"observation": made.single_observation_space, "action": made.single_action_space}
    made.close()
    return spaces


def _check_space(kind: str, space: Any, wanted: Any, env: str) -> None:
    if space != wanted:
        raise _CannotPlay(
            f"environment {env} has the {kind} space {space}; the policy was trained with {wanted}"
        )
