"""Time to make a MultiRoom level, here and in the `minigrid` package: same levels, no views.

    python benchmarks/multiroom_levels.py

Time is this process's own CPU time. Both must have made the same levels: their generators are
compared and must end in the same state.
"""

from __future__ import annotations

import time

import gymnasium as gym
from minigrid.minigrid_env import MiniGridEnv

import rllib_ride  # noqa: F401  (registers the environments)

# As many levels as the package makes in a few seconds, but enough for a mean: rooms are placed by
# trial and error, so the time varies much between levels of one task.
LEVELS = {
    "MiniGrid-MultiRoom-N7-S4-v0": 1000,
    "MiniGrid-MultiRoom-N7-S8-v0": 1000,
    "MiniGrid-MultiRoom-N10-S4-v0": 1000,
    "MiniGrid-MultiRoom-N10-S6-v0": 1000,
    "MiniGrid-MultiRoom-N10-S10-v0": 300,
    "MiniGrid-MultiRoom-N12-S10-v0": 100,
}


def milliseconds(env: MiniGridEnv, levels: int) -> float:
    """Mean time of a reset, after a first one that includes compilation."""
    env.gen_obs = lambda: None
    env.reset(seed=0)
    env.reset(seed=0)
    start = time.process_time()
    for _ in range(levels):
        env.reset()
    return (time.process_time() - start) / levels * 1000


def main() -> None:
    """Prints one line per task."""
    print("ms a level: levels, here, package, ratio")
    for env_id, levels in LEVELS.items():
        (ours,) = gym.make_vec(env_id, vectorization_mode="vector_entry_point").envs
        package = gym.make(env_id).unwrapped
        here, there = milliseconds(ours, levels), milliseconds(package, levels)
        if ours.np_random.bit_generator.state != package.np_random.bit_generator.state:
            raise SystemExit(f"{env_id}: these are not the package's levels")
        print(f"{env_id:32}{levels:8}{here:10.3f}{there:10.3f}{there / here:8.0f}", flush=True)


if __name__ == "__main__":
    main()
