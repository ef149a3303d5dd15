"""Plays episodes of a checkpoint's policy in one level and records each step's effect."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from gymnasium.vector import VectorEnv
from minigrid.core.world_object import Door
from minigrid.minigrid_env import MiniGridEnv
from numpy.typing import NDArray

from rllib_ride.analysis.bonus import episode_bonuses, load_intrinsic
from rllib_ride.analysis.episode_record import Episode, Facts, Recording, kind_of
from rllib_ride.analysis.level import level_of
from rllib_ride.analysis.play import Moment, num_envs_for, play
from rllib_ride.analysis.policy import Policy, load_policy
from rllib_ride.envs.singleton import pin_level
from rllib_ride.rllib.module import IntrinsicModule
from rllib_ride.rllib.settings import IntrinsicSettings
from rllib_ride.rllib.visits import StateVisits


@dataclass(frozen=True)
class Agent:
    """The contents of a checkpoint: a policy and the intrinsic networks it was trained with.

    Attributes:
        policy: The policy and its environment.
        intrinsic: The intrinsic networks; None if it was trained without a bonus.
    """

    policy: Policy
    intrinsic: IntrinsicModule | None

    @property
    def method(self) -> str:
        """Name of the intrinsic reward."""
        return self.intrinsic.model_config["method"] if self.intrinsic else "none"


def load_agent(checkpoint: Path, env: str | None = None) -> Agent:
    """Loads policy and intrinsic networks of a checkpoint; see `load_policy`.

    Raises:
        ValueError: As `load_policy`, or the environment is not MiniGrid's and so has no level.
    """
    policy = load_policy(checkpoint, env=env)
    agent = Agent(policy, load_intrinsic(checkpoint, policy))
    with contextlib.closing(agent.policy.make_env(1)) as one:
        try:
            _levels_of(one)
        except ValueError as error:
            raise ValueError(f"{checkpoint}: {agent.policy.env} {error}") from None
    return agent


def record_episode(checkpoint: Path, seed: int) -> Recording:
    """Records one episode in one level, with its grids; samples actions as in training.

    Args:
        checkpoint: A folder that a trial with a bonus wrote.
        seed: Of the level and the actions.

    Raises:
        ValueError: As `load_agent`, or the checkpoint has no intrinsic networks.
    """
    agent = load_agent(checkpoint)
    if agent.intrinsic is None:
        raise ValueError(f"{checkpoint}: trained without a bonus, there are no intrinsic networks")
    return record(agent, episodes=1, seed=seed, keep_grids=True)


def record(
    agent: Agent, *, episodes: int, seed: int, greedy: bool = False, keep_grids: bool = False
) -> Recording:
    """Records episodes that all begin in the level that `env.reset(seed=seed)` makes.

    Args:
        agent: The agent that plays.
        episodes: Number of episodes.
        seed: Of the level and the actions.
        greedy: Take the most likely action; otherwise sample, as in training.
        keep_grids: Keep the whole grid of each step.
    """
    policy = agent.policy
    with contextlib.closing(policy.make_env(num_envs_for(episodes))) as env:
        levels = _levels_of(env)
        for one in levels:
            pin_level(one, seed)
        moments = play(policy, env, episodes=episodes, seed=seed, greedy=greedy)
        watch = _Watch(agent, env, levels, keep_grids)
        first = next(moments)
        level = level_of(levels[0])
        watch.see(first)
        for moment in moments:
            watch.see(moment)
    return Recording(
        env=policy.env,
        method=agent.method,
        frames_trained=policy.frames_trained,
        level=level,
        episodes=tuple(watch.episodes),
    )


def facts_of(level: MiniGridEnv) -> Facts:
    """The facts about a level's current state that `kind_of` compares."""
    objects = [cell for cell in level.grid.grid if cell is not None]
    x, y = level.agent_pos
    return Facts(
        position=(int(x), int(y)),
        direction=int(level.agent_dir),
        open_doors=sum(isinstance(cell, Door) and cell.is_open for cell in objects),
        boxes=sum(cell.type == "box" for cell in objects),
        carries=level.carrying.type if level.carrying else None,
    )


def _levels_of(env: VectorEnv) -> list[MiniGridEnv]:
    """The MiniGrid environments in a vector environment.

    Raises:
        ValueError: They are not MiniGrid's.
    """
    levels = [one.unwrapped for one in getattr(env.unwrapped, "envs", [])]
    if not levels or not all(isinstance(level, MiniGridEnv) for level in levels):
        raise ValueError("is no MiniGrid environment: it has no level to draw")
    return levels


@dataclass
class _Track:
    """The recording of a running episode, step by step."""

    facts: list[Facts] = field(default_factory=list)
    seen: list[NDArray] = field(default_factory=list)
    grids: list[NDArray[np.uint8]] = field(default_factory=list)
    actions: list[Any] = field(default_factory=list)
    rewards: list[float] = field(default_factory=list)
    visits: list[tuple[int, int]] = field(default_factory=list)  # key and N_ep


class _Watch:
    """Records the episodes of N environments.

    Attributes:
        episodes: The ended episodes that count.
    """

    def __init__(
        self, agent: Agent, env: VectorEnv, levels: list[MiniGridEnv], keep_grids: bool
    ) -> None:
        self.episodes: list[Episode] = []
        self._intrinsic = agent.intrinsic
        self._levels = levels
        self._keep_grids = keep_grids
        self._tracks = [_Track() for _ in levels]
        self._counter: StateVisits | None = None
        if agent.intrinsic is not None:
            config = agent.intrinsic.model_config
            settings = {key: config[key] for key in ("method", "counts", "observation_key")}
            self._counter = StateVisits.of(env, IntrinsicSettings(**settings))

    def see(self, moment: Moment) -> None:
        """Records one step of each environment."""
        keys = counts = np.zeros(len(self._levels), np.int64)
        if self._counter is not None:
            keys, counts = self._counter.visit(moment.obs, moment.infos, moment.begins)
        for n in np.flatnonzero(moment.counted):
            if moment.begins[n]:
                self._tracks[n] = _Track()
            else:
                self._tracks[n].actions.append(moment.actions[n])
                self._tracks[n].rewards.append(float(moment.rewards[n]))
                self._tracks[n].visits.append((int(keys[n]), int(counts[n])))
            self._look_at(n, moment)
            if moment.ended[n]:
                self.episodes.append(self._finished(self._tracks[n]))

    def _look_at(self, n: int, moment: Moment) -> None:
        """Records the current state of environment n."""
        track, level = self._tracks[n], self._levels[n]
        track.facts.append(facts_of(level))
        if self._intrinsic is not None:
            track.seen.append(np.array(self._intrinsic.seen(moment.obs)[n]))
        if self._keep_grids:
            track.grids.append(level.grid.encode())

    def _finished(self, track: _Track) -> Episode:
        facts = track.facts
        bonuses = None
        if self._intrinsic is not None:
            keys, counts = np.array(track.visits, np.int64).T  # [T] each
            bonuses = episode_bonuses(
                self._intrinsic,
                observations=np.stack(track.seen),
                actions=np.array(track.actions),
                state_keys=keys.copy(),
                episodic_counts=counts.copy(),
            )
        return Episode(
            positions=np.array([fact.position for fact in facts]),
            directions=np.array([fact.direction for fact in facts]),
            kinds=tuple(kind_of(*pair) for pair in zip(facts[:-1], facts[1:], strict=True)),
            rewards=np.array(track.rewards),
            bonuses=bonuses,
            grids=np.stack(track.grids) if self._keep_grids else None,
        )
