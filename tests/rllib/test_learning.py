"""RIDE learns a task that the same learner without a bonus does not."""

from __future__ import annotations

import pytest
from ray.rllib.algorithms.impala import IMPALAConfig

from rllib_ride.rllib.presets import make_config

# Four rooms of the paper's seven, solved by chance in no episode of a random policy; smaller, more
# frequent updates than the preset's, at a higher rate: two minutes for both.
ROOMS = {"minNumRooms": 4, "maxNumRooms": 4, "maxRoomSize": 4}
MOST_FRAMES = 400_000
LEARNED = 0.4


def four_rooms(method: str) -> IMPALAConfig:
    config = make_config(
        preset="tuned",
        method=method,
        env="MiniGrid-MultiRoom-N7-S4-v0",
        env_options=ROOMS,
        frames=MOST_FRAMES,
        seed=1,
    )
    config.env_runners(num_envs_per_env_runner=16, rollout_fragment_length=32)
    config.training(train_batch_size_per_learner=16 * 32, lr=6e-4)
    return config


def train(method: str, most_frames: int) -> tuple[int, float]:
    """Frames and mean return when the task is learned or the frames are used up."""
    algo = four_rooms(method).build_algo()
    frames, mean_return = 0, 0.0
    try:
        while frames < most_frames and mean_return < LEARNED:
            result = algo.train()
            frames = int(result["num_env_steps_sampled_lifetime"])
            mean_return = result["env_runners"].get("episode_return_mean", 0.0)
    finally:
        algo.stop()
    return frames, mean_return


@pytest.mark.learning
def test_ride_learns_and_the_same_learner_without_a_bonus_does_not(ray_session: None) -> None:
    frames, mean_return = train("ride", MOST_FRAMES)
    assert mean_return >= LEARNED
    frames_without, return_without = train("none", frames)
    assert frames_without >= frames
    assert return_without < 0.02
