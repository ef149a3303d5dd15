"""A level small enough to play by hand, and episodes written by hand."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
from minigrid.core.grid import Grid
from minigrid.core.mission import MissionSpace
from minigrid.core.world_object import Ball, Box, Door, Goal, Key, Wall
from minigrid.minigrid_env import MiniGridEnv
from minigrid.wrappers import ImgObsWrapper

from rllib_ride.analysis.episode_record import Episode, Kind, Recording
from rllib_ride.analysis.level import Level, level_of

ENV_ID = "helpers.small_level:rllib_ride_test/SmallLevel-v0"

# x:     01234567
MAP = [
    "########",  # 0
    "#..D..B#",  # 1   D: a locked yellow door, X: a box with a yellow key in it
    "#X.#..G#",  # 2
    "########",  # 3
]
START = (2, 1)  # looking left


class SmallLevel(MiniGridEnv):
    """Two rooms: `MAP`."""

    def __init__(self, max_steps: int = 50, **kwargs):
        super().__init__(
            mission_space=MissionSpace(lambda: "go"),
            width=8,
            height=4,
            max_steps=max_steps,
            **kwargs,
        )

    def _gen_grid(self, width, height):
        self.grid = Grid(width, height)
        objects = {
            "#": Wall,
            "D": lambda: Door("yellow", is_locked=True),
            "X": lambda: Box("grey", contains=Key("yellow")),
            "B": lambda: Ball("blue"),
            "G": Goal,
        }
        for y, row in enumerate(MAP):
            for x, letter in enumerate(row):
                if letter != ".":
                    self.grid.set(x, y, objects[letter]())
        self.agent_pos, self.agent_dir, self.mission = START, 2, "go"


def make_small_level(**kwargs) -> gym.Env:
    """The environment, with only the view as observation."""
    return ImgObsWrapper(SmallLevel(**kwargs))


gym.register("rllib_ride_test/SmallLevel-v0", entry_point=make_small_level)


def small_level() -> Level:
    """The level as plain data."""
    env = SmallLevel()
    env.reset()
    return level_of(env)


def episode(*steps, start=START, direction=2, reward=0.0, with_bonus=True) -> Episode:
    """An episode of steps `(position, direction, kind, bonus)`; the last one has the reward."""
    positions, directions, kinds, bonuses = zip(*steps, strict=True)
    return Episode(
        positions=np.array([start, *positions]),
        directions=np.array([direction, *directions]),
        kinds=kinds,
        rewards=np.array([0.0] * (len(steps) - 1) + [reward]),
        bonuses=np.array(bonuses) if with_bonus else None,
    )


def two_episodes(**changes) -> tuple[Episode, Episode]:
    """One of five steps that ends in the second room, and one of three that stays in the first."""
    return (
        episode(
            ((2, 1), 3, Kind.TURN, 0.01),
            ((2, 1), 0, Kind.TURN, 0.03),
            ((2, 1), 0, Kind.OPEN_DOOR, 0.08),
            ((3, 1), 0, Kind.MOVE_FORWARD, 0.04),
            ((4, 1), 0, Kind.MOVE_FORWARD, 0.02),
            reward=0.9,
            **changes,
        ),
        episode(
            ((1, 1), 2, Kind.MOVE_FORWARD, 0.06),
            ((1, 1), 2, Kind.NO_EFFECT, 0.0),
            ((1, 1), 1, Kind.TURN, 0.05),
            **changes,
        ),
    )


def recording(*episodes: Episode, method="ride", env="MiniGrid-MultiRoom-N7-S4-v0") -> Recording:
    """A recording on the small level, by default of `two_episodes`."""
    return Recording(env, method, 1000, small_level(), episodes or two_episodes())
