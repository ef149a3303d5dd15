"""Plays one episode of a checkpoint's policy and records the bonus of each step."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch
from minigrid.core.actions import Actions
from minigrid.core.world_object import Door
from minigrid.minigrid_env import MiniGridEnv
from ray.rllib.core.rl_module.torch import TorchRLModule

from rllib_ride.analysis.episode_record import EpisodeRecord, Facts, Step, kind_of
from rllib_ride.analysis.policy import Policy, load_policy
from rllib_ride.intrinsic import Transitions
from rllib_ride.rllib.acting import LockStepActor
from rllib_ride.rllib.module import IntrinsicModule
from rllib_ride.rllib.ray_internals import module_folder
from rllib_ride.rllib.settings import INTRINSIC_MODULE_ID, IntrinsicSettings
from rllib_ride.rllib.visits import StateVisits


def record_episode(checkpoint: Path, seed: int) -> EpisodeRecord:
    """One episode on one MiniGrid level, actions sampled as in training.

    Args:
        checkpoint: A folder that a trial with a bonus wrote.
        seed: Of the level and the actions.

    Raises:
        ValueError: No such checkpoint, one without intrinsic networks, or no MiniGrid environment.
    """
    policy = load_policy(checkpoint)
    intrinsic = _load_intrinsic(checkpoint)
    env = policy.make_env(num_envs=1)
    try:
        level = getattr(env.unwrapped, "envs", [None])[0]
        if not isinstance(level, MiniGridEnv):
            raise ValueError(f"{policy.env} is no MiniGrid environment: it has no level to draw")
        with torch.no_grad(), torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            return _play(policy, intrinsic, env, level, seed)
    finally:
        env.close()


def _play(
    policy: Policy, intrinsic: IntrinsicModule, env: Any, level: MiniGridEnv, seed: int
) -> EpisodeRecord:
    settings = {key: intrinsic.model_config[key] for key in ("counts", "observation_key")}
    counter, goes_on = StateVisits.of(env, IntrinsicSettings(**settings)), np.zeros(1, bool)
    obs, infos = env.reset(seed=seed)
    counter.begin(obs, infos)
    picture = level.get_frame(highlight=False, tile_size=16)
    observations, facts = [intrinsic.seen(obs)[0].copy()], [_facts(level)]
    actions, rewards, visits = [], [], []
    actor, ended = LockStepActor(policy.module, num_envs=1), False
    while not ended:
        action, _ = actor.act(obs, explore=True)
        obs, reward, terminated, truncated, infos = env.step(action)
        ended = bool(terminated[0] or truncated[0])
        observations.append(intrinsic.seen(obs)[0].copy())
        facts.append(_facts(level))
        actions.append(int(action[0]))
        rewards.append(float(reward[0]))
        visits.append(counter.visit(obs, infos, begins=goes_on))

    keys, counts = (torch.as_tensor(np.stack(x)) for x in zip(*visits, strict=True))  # [T, 1]
    bonuses = intrinsic.method.bonus(
        Transitions(
            obs=torch.as_tensor(np.stack(observations)).unsqueeze(1),  # [T + 1, 1, H, W, C]
            actions=torch.tensor(actions).unsqueeze(1),  # [T, 1]
            episodic_counts=counts,
            mask=torch.ones(len(actions), 1, dtype=torch.bool),
            state_keys=keys,
            episode_ids=torch.zeros(1, dtype=torch.long),
            t_started=torch.zeros(1, dtype=torch.long),
        )
    )[:, 0].tolist()
    return EpisodeRecord(
        env=policy.env,
        method=intrinsic.model_config["method"],
        level=picture,
        size=(level.width, level.height),
        start=facts[0].position,
        steps=[
            Step(
                position=after.position,
                direction=after.direction,
                action=Actions(action).name,
                kind=kind_of(before, after),
                bonus=bonus,
                reward=reward,
            )
            for before, after, action, bonus, reward in zip(
                facts[:-1], facts[1:], actions, bonuses, rewards, strict=True
            )
        ],
    )


def _facts(level: MiniGridEnv) -> Facts:
    doors = (cell for cell in level.grid.grid if isinstance(cell, Door))
    x, y = level.agent_pos
    return Facts(
        position=(int(x), int(y)),
        direction=int(level.agent_dir),
        open_doors=sum(door.is_open for door in doors),
        carries=level.carrying is not None,
    )


def _load_intrinsic(checkpoint: Path) -> IntrinsicModule:
    path = module_folder(checkpoint, INTRINSIC_MODULE_ID)
    if not path.is_dir():
        raise ValueError(f"{checkpoint}: trained without a bonus, there are no intrinsic networks")
    module = TorchRLModule.from_checkpoint(str(path.resolve()))
    assert isinstance(module, IntrinsicModule)
    return module
