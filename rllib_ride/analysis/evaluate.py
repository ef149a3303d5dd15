"""How well a checkpoint's policy plays, over a number of whole episodes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from rllib_ride.analysis.policy import Policy
from rllib_ride.rllib.acting import LockStepActor, actions_for_env, reset_each

_MOST_ENVS = 32


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
    env = policy.make_env(num_envs)
    returns: list[float] = []
    lengths: list[int] = []
    with torch.no_grad(), torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        seeds = [int(s) for s in np.random.SeedSequence(seed).generate_state(num_envs)]
        obs, _ = reset_each(env, seeds)
        actor = LockStepActor(policy.module, num_envs)
        played, total, length = np.zeros(num_envs, int), np.zeros(num_envs), np.zeros(num_envs, int)
        resetting = np.zeros(num_envs, bool)  # the step after an end is no transition
        while (played < shares).any():
            actions, _ = actor.act(obs, explore=not greedy)
            obs, rewards, terminated, truncated, _ = env.step(
                actions_for_env(
                    actions,
                    env.single_action_space,
                    normalized=policy.normalize_actions,
                    clip=policy.clip_actions,
                )
            )
            total += rewards * ~resetting
            length += ~resetting
            actor.begin(resetting)
            ended = terminated | truncated
            for n in np.flatnonzero(ended & (played < shares)):
                returns.append(float(total[n]))
                lengths.append(int(length[n]))
            played += ended
            total[ended], length[ended] = 0.0, 0
            resetting = ended
    env.close()
    return returns, lengths
