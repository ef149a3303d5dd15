"""RIDE learns a task that the same learner without a bonus does not."""

from __future__ import annotations

import pytest
from ray.rllib.algorithms.algorithm_config import AlgorithmConfig

from rllib_ride.experiments.last_episodes import LastEpisodes
from rllib_ride.experiments.progress import Progress
from rllib_ride.rllib.presets import make_config
from rllib_ride.run_files import WINDOW

# Four rooms instead of the paper's seven; a random policy never solves them by chance.
ROOMS = {"minNumRooms": 4, "maxNumRooms": 4, "maxRoomSize": 4}
MOST_FRAMES = {"tuned": 400_000, "tuned_ppo": 200_000}
LEARNED = 0.4


def four_rooms(preset: str, method: str) -> AlgorithmConfig:
    config = make_config(
        preset=preset,
        method=method,
        env="MiniGrid-MultiRoom-N7-S4-v0",
        env_options=ROOMS,
        frames=MOST_FRAMES[preset],
        seed=1,
    )
    if preset == "tuned":
        # Smaller and more frequent updates at a higher rate: two minutes for both methods.
        config.env_runners(num_envs_per_env_runner=16, rollout_fragment_length=32)
        config.training(train_batch_size_per_learner=16 * 32, lr=6e-4)
    return config


def train(config: AlgorithmConfig, most_frames: int) -> tuple[int, float]:
    """Trains until the task is learned or the frames are used up; returns frames and return."""
    algo = config.build_algo()
    last_episodes = LastEpisodes()  # an iteration may end no episode
    frames, mean_return = 0, 0.0
    try:
        while frames < most_frames and mean_return < LEARNED:
            result = algo.train()
            last_episodes.update(result)
            now = Progress.of(result)
            frames = now.frames
            mean_return = now.return_mean if now.episodes >= WINDOW else 0.0
    finally:
        algo.stop()
    return frames, mean_return


@pytest.mark.learning
@pytest.mark.parametrize("preset", MOST_FRAMES)
def test_ride_learns_and_the_same_learner_without_a_bonus_does_not(
    ray_session: None, preset: str
) -> None:
    frames, mean_return = train(four_rooms(preset, "ride"), MOST_FRAMES[preset])
    assert mean_return >= LEARNED
    frames_without, return_without = train(four_rooms(preset, "none"), frames)
    assert frames_without >= frames
    assert return_without < 0.02
