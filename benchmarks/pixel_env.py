"""Steps per second of the VizDoom and Mario environments on one core, with uniform random actions.

    python benchmarks/pixel_env.py                # all ids, as trained (repeat 4) and as evaluated
    python benchmarks/pixel_env.py --screens      # VizDoom's screens: rate, and what the agent sees

Time is the CPU time of this process and, for VizDoom, of its engine's process, so that other load
on the machine matters little. It includes startup and resets.
"""

from __future__ import annotations

import argparse
import os

import gymnasium as gym
import numpy as np
from PIL import Image

import rllib_ride  # noqa: F401  (registers the environments)
from rllib_ride.envs.pixels import shrink
from rllib_ride.envs.registration import MARIO_ID, VIZDOOM_IDS
from rllib_ride.envs.vizdoom_my_way_home import VizDoomMyWayHomeEnv

SCREENS = (
    ("RES_160X120", None),
    ("RES_160X120", "rgb_array"),
    ("RES_320X240", None),
    ("RES_320X240", "rgb_array"),
    ("RES_640X480", "rgb_array"),
)


def cpu_seconds() -> float:
    """CPU time of this process and of the children that have ended."""
    return sum(os.times()[:4])


def play(env: gym.Env, steps: int) -> tuple[float, np.ndarray]:
    """Steps per CPU second, and every 20th image that the agent saw; closes the environment.

    Colour images are converted to grey by ITU-R 601.
    """
    actions = np.random.default_rng(0).integers(env.action_space.n, size=steps)
    pictures = []
    start = cpu_seconds()
    obs, _ = env.reset(seed=0)
    for t, action in enumerate(actions):
        obs, _, terminated, truncated, _ = env.step(action)
        if t % 20 == 0:
            screen = env.render()
            if screen is None:
                pictures.append(obs[:, :, -1])
            else:
                pictures.append(shrink(np.asarray(Image.fromarray(screen).convert("L"))))
        if terminated or truncated:
            env.reset()
    env.close()
    return steps / (cpu_seconds() - start), np.array(pictures)


def main() -> None:
    """Prints one line per id or screen."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=5000)
    parser.add_argument("--screens", action="store_true", help="compare VizDoom's screens instead")
    options = parser.parse_args()
    if options.screens:
        print(
            "screen                    steps/s   difference from 160x120 grey, of 255 (mean, 99 %)"
        )
        ours = None
        for resolution, render_mode in SCREENS:
            env = VizDoomMyWayHomeEnv("dense", render_mode=render_mode)
            env.resolution = resolution
            rate, pictures = play(env, options.steps)
            ours = pictures if ours is None else ours
            off = abs(pictures.astype(int) - ours)
            name = f"{resolution} {'grey' if render_mode is None else 'colour'}"
            print(
                f"{name:20}{rate:12,.0f}{off.mean():12.1f}{np.quantile(off, 0.99):8.0f}", flush=True
            )
        return
    print("id                                action_repeat   steps/s")
    for env_id in (*VIZDOOM_IDS.values(), MARIO_ID):
        for action_repeat in (4, 1):
            env = gym.make(env_id, action_repeat=action_repeat, disable_env_checker=True)
            rate, _ = play(env, options.steps if env_id != MARIO_ID else options.steps // 5)
            print(f"{env_id:36}{action_repeat:8}{rate:14,.0f}", flush=True)


if __name__ == "__main__":
    main()
