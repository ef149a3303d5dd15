"""How well a checkpoint's policy plays, over a number of whole episodes."""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import torch
from ray.rllib.core import DEFAULT_MODULE_ID
from ray.rllib.core.columns import Columns
from ray.rllib.core.rl_module.torch import TorchRLModule
from ray.rllib.utils.metrics import ENV_RUNNER_RESULTS, NUM_ENV_STEPS_SAMPLED_LIFETIME
from ray.rllib.utils.metrics.metrics_logger import MetricsLogger
from ray.rllib.utils.numpy import convert_to_numpy

import rllib_ride  # noqa: F401 (registers the environments)

_MOST_ENVS = 32


@dataclass(frozen=True)
class Policy:
    """A trained policy and where it plays.

    Attributes:
        module: The policy's RLModule alone, in inference mode.
        env: Environment id.
        env_options: Keyword arguments of the environment.
        frames_trained: Transitions it was trained on.
    """

    module: TorchRLModule
    env: str
    env_options: dict[str, Any]
    frames_trained: int


@dataclass(frozen=True)
class Scores:
    """What `rllib-ride evaluate` tells.

    Attributes:
        episodes: Episodes played.
        return_mean: Mean extrinsic return of an episode.
        return_std: Its standard deviation over the episodes.
        length_mean: Mean transitions of an episode.
        success_rate: Share of episodes with a return above 0: where reward is sparse, those that
            reached the goal.
        frames_trained: Transitions the policy was trained on.
    """

    episodes: int
    return_mean: float
    return_std: float
    length_mean: float
    success_rate: float
    frames_trained: int


def load_policy(checkpoint: Path, env: str | None = None) -> Policy:
    """The policy in a checkpoint of RLlib's algorithm; neither Learner nor EnvRunner is built.

    Args:
        checkpoint: A folder that `Algorithm.save_to_path` or a trial wrote, `checkpoint_000003`.
        env: Environment to play in; None: the one it was trained in, with its options.

    Raises:
        ValueError: No such checkpoint, or an environment unknown or of other spaces.
    """
    module_path = checkpoint / "learner_group" / "learner" / "rl_module" / DEFAULT_MODULE_ID
    if not module_path.is_dir():
        there = sorted(path.name for path in checkpoint.glob("checkpoint_*"))
        hint = f"; did you mean {checkpoint / there[-1]}?" if there else ""
        raise ValueError(f"{checkpoint}: no checkpoint of a trial or RLlib algorithm{hint}")
    try:
        module = TorchRLModule.from_checkpoint(str(module_path.resolve()))
        trained_in, options = _environment(checkpoint)
        frames_trained = _frames_trained(checkpoint)
    except (OSError, EOFError, KeyError, pickle.UnpicklingError) as error:
        raise ValueError(f"{checkpoint}: not a whole checkpoint: {error}") from error
    module.eval()
    policy = Policy(
        module=module,
        env=env or trained_in,
        env_options=options if env in (None, trained_in) else {},
        frames_trained=frames_trained,
    )
    _check_spaces(policy)
    return policy


def evaluate(policy: Policy, *, episodes: int, seed: int, greedy: bool) -> Scores:
    """Plays whole episodes and averages over them.

    Each environment plays a number of episodes that is fixed beforehand. To take the first so many
    that end, whichever environment they end in, would favour short episodes.

    Args:
        policy: The policy.
        episodes: How many to play, at least 1.
        seed: Of levels and sampled actions.
        greedy: Take the likeliest action; otherwise sample, as in training.
    """
    num_envs = min(episodes, _MOST_ENVS)
    returns, lengths = _play(policy, _shares(episodes, num_envs), seed, greedy)
    return Scores(
        episodes=episodes,
        return_mean=float(np.mean(returns)),
        return_std=float(np.std(returns)),
        length_mean=float(np.mean(lengths)),
        success_rate=float(np.mean(np.array(returns) > 0)),
        frames_trained=policy.frames_trained,
    )


def _shares(episodes: int, num_envs: int) -> np.ndarray:
    """How many episodes each environment plays, `[N]`."""
    shares = np.full(num_envs, episodes // num_envs)
    shares[: episodes % num_envs] += 1
    return shares


def _play(
    policy: Policy, shares: np.ndarray, seed: int, greedy: bool
) -> tuple[list[float], list[int]]:
    """Return and length of each environment's first `shares[n]` episodes."""
    num_envs = len(shares)
    env = _make_env(policy, num_envs)
    returns: list[float] = []
    lengths: list[int] = []
    with torch.no_grad(), torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        seeds = [int(s) for s in np.random.SeedSequence(seed).generate_state(num_envs)]
        obs, _ = env.reset(seed=seeds)  # type: ignore[arg-type]  # one a environment, as documented
        state = _initial_state(policy.module, num_envs)
        played, total, length = np.zeros(num_envs, int), np.zeros(num_envs), np.zeros(num_envs, int)
        resetting = np.zeros(num_envs, bool)  # the step after an end is no transition
        while (played < shares).any():
            actions, state = _act(policy.module, obs, state, greedy)
            obs, rewards, terminated, truncated, _ = env.step(actions)
            total += rewards * ~resetting
            length += ~resetting
            _reset_state(policy.module, state, resetting)
            ended = terminated | truncated
            for n in np.flatnonzero(ended & (played < shares)):
                returns.append(float(total[n]))
                lengths.append(int(length[n]))
            played += ended
            total[ended], length[ended] = 0.0, 0
            resetting = ended
    env.close()
    return returns, lengths


def _act(
    module: TorchRLModule, obs: np.ndarray, state: dict[str, torch.Tensor], greedy: bool
) -> tuple[np.ndarray, dict[str, torch.Tensor]]:
    """Actions `[N, ...]` and the next recurrent state `[N, ...]`, empty if there is none."""
    batch: dict[str, Any] = {Columns.OBS: torch.from_numpy(np.asarray(obs))}
    if state:
        batch = {
            Columns.OBS: batch[Columns.OBS].unsqueeze(1),
            Columns.STATE_IN: state,
        }  # [N, 1, ...]
    out = module.forward_inference(batch)
    inputs = out[Columns.ACTION_DIST_INPUTS]
    if state:
        inputs = inputs.squeeze(1)  # [N, A]
    dist = module.get_inference_action_dist_cls().from_logits(inputs)
    actions = (dist.to_deterministic() if greedy else dist).sample()
    return np.asarray(convert_to_numpy(actions)), out.get(Columns.STATE_OUT, {})


def _initial_state(module: TorchRLModule, num_envs: int) -> dict[str, torch.Tensor]:
    if not module.is_stateful():
        return {}
    return {
        key: torch.as_tensor(value).expand(num_envs, *value.shape).clone()
        for key, value in module.get_initial_state().items()
    }


def _reset_state(
    module: TorchRLModule, state: dict[str, torch.Tensor], env_mask: np.ndarray
) -> None:
    """Gives environments that begin an episode the initial state."""
    if state and env_mask.any():
        for key, value in module.get_initial_state().items():
            state[key][torch.from_numpy(env_mask)] = torch.as_tensor(value)


def _make_env(policy: Policy, num_envs: int) -> gym.vector.VectorEnv:
    return gym.make_vec(policy.env, num_envs=num_envs, **policy.env_options)


def _check_spaces(policy: Policy) -> None:
    env = _make_env(policy, num_envs=1)
    spaces = {"observation": env.single_observation_space, "action": env.single_action_space}
    env.close()
    for kind, space in spaces.items():
        wanted = getattr(policy.module, f"{kind}_space")
        if space != wanted:
            raise ValueError(
                f"environment {policy.env} has the {kind} space {space}; the policy was trained "
                f"with {wanted}"
            )


def _environment(checkpoint: Path) -> tuple[str, dict[str, Any]]:
    """Id and options of the environment the algorithm was built with."""
    made_with = _unpickle(checkpoint / "class_and_ctor_args.pkl")
    (config, *_), _ = made_with["ctor_args_and_kwargs"]
    return config["env"], dict(config["env_config"])


def _frames_trained(checkpoint: Path) -> int:
    metrics = MetricsLogger(root=True)
    metrics.set_state(_unpickle(checkpoint / "algorithm_state.pkl")["metrics_logger"])
    return int(metrics.peek((ENV_RUNNER_RESULTS, NUM_ENV_STEPS_SAMPLED_LIFETIME)))


def _unpickle(path: Path) -> Any:
    with path.open("rb") as file:
        return pickle.load(file)
