"""Plays whole episodes of a policy in N environments in lock-step, without selection bias."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import numpy as np
import torch
from numpy.typing import NDArray

from rllib_ride.analysis.policy import Policy
from rllib_ride.rllib.acting import LockStepActor, actions_for_env, reset_each

MOST_ENVS = 32


@dataclass(frozen=True)
class Moment:
    """The current state of N environments, and the step that led there.

    Attributes:
        obs: `[N, ...]`, or a dict of such; some environments overwrite it at the next step.
        infos: Of the same step.
        begins: `[N]` bool, True where the state is an episode's first: no transition led there, and
            action and reward have no meaning.
        actions: `[N, ...]`, as the policy chose them.
        rewards: `[N]`, extrinsic.
        ended: `[N]` bool, whether the episode ended with this step.
        counted: `[N]` bool, False where an environment has already played all its episodes.
    """

    obs: Any
    infos: dict[str, Any]
    begins: NDArray[np.bool_]
    actions: NDArray[Any]
    rewards: NDArray[np.float64]
    ended: NDArray[np.bool_]
    counted: NDArray[np.bool_]


def num_envs_for(episodes: int) -> int:
    """The number of environments in which to play `episodes`."""
    return min(episodes, MOST_ENVS)


def play(
    policy: Policy, env: gym.vector.VectorEnv, *, episodes: int, seed: int, greedy: bool
) -> Iterator[Moment]:
    """Plays until `episodes` episodes that count have ended.

    Each environment plays a number of episodes fixed in advance. Taking the first ones to end in
    any environment would favour short episodes.

    Args:
        policy: The policy.
        env: Its environments; must reset on the step after an episode's end.
        episodes: Number of episodes, at least the number of environments.
        seed: Of levels and sampled actions.
        greedy: Take the most likely action; otherwise sample, as in training.
    """
    num_envs = env.num_envs
    shares, played = shares_of(episodes, num_envs), np.zeros(num_envs, int)
    seeds = [int(s) for s in np.random.SeedSequence(seed).generate_state(num_envs)]
    actor = LockStepActor(policy.module, num_envs)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        obs, infos = reset_each(env, seeds)
        nothing, no, yes = np.zeros(num_envs), np.zeros(num_envs, bool), np.ones(num_envs, bool)
        yield Moment(
            obs, infos, begins=yes, actions=nothing, rewards=nothing, ended=no, counted=yes
        )
        begins = no
        while (counted := played < shares).any():
            actions, _ = actor.act(obs, explore=not greedy)
            obs, rewards, terminated, truncated, infos = env.step(
                actions_for_env(
                    actions,
                    env.single_action_space,
                    normalized=policy.normalize_actions,
                    clip=policy.clip_actions,
                )
            )
            actor.begin(begins)
            ended = terminated | truncated
            yield Moment(obs, infos, begins, actions, rewards, ended, counted)
            played += ended
            begins = ended


def shares_of(episodes: int, num_envs: int) -> NDArray[np.int64]:
    """The number of episodes that each environment plays, `[N]`."""
    shares = np.full(num_envs, episodes // num_envs)
    shares[: episodes % num_envs] += 1
    return shares
