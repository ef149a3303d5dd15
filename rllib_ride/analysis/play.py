"""Whole episodes of a policy in N environments, in lock-step, none of them favoured."""

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
    """Where N environments are, and the step that led there.

    Attributes:
        obs: `[N, ...]`, or a dict of such; some environments write the next one into it.
        infos: Of the same step.
        begins: `[N]` bool, True where the state is an episode's first: no transition led there, and
            the actions and rewards are nobody's.
        actions: `[N, ...]`, as the policy chose them.
        rewards: `[N]`, extrinsic.
        ended: `[N]` bool, whether the episode ended with this step.
        counted: `[N]` bool, False where an environment has played all it was to play.
    """

    obs: Any
    infos: dict[str, Any]
    begins: NDArray[np.bool_]
    actions: NDArray[Any]
    rewards: NDArray[np.float64]
    ended: NDArray[np.bool_]
    counted: NDArray[np.bool_]


def num_envs_for(episodes: int) -> int:
    """How many environments so many episodes are played in."""
    return min(episodes, MOST_ENVS)


def play(
    policy: Policy, env: gym.vector.VectorEnv, *, episodes: int, seed: int, greedy: bool
) -> Iterator[Moment]:
    """Plays until `episodes` episodes have ended that count.

    Each environment plays a number of episodes that is fixed beforehand. To take the first so many
    that end, whichever environment they end in, would favour short episodes.

    Args:
        policy: The policy.
        env: Where it plays; resets on the step after an episode's end.
        episodes: How many, at least as many as there are environments.
        seed: Of levels and sampled actions.
        greedy: Take the likeliest action; otherwise sample, as in training.
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
    """How many episodes each environment plays, `[N]`."""
    shares = np.full(num_envs, episodes // num_envs)
    shares[: episodes % num_envs] += 1
    return shares
