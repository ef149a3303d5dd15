"""Episodes played from a checkpoint, and the bonus of their steps."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest
from ray.rllib.core.rl_module.rl_module import RLModuleSpec

from helpers import small_level
from helpers.checkpoints import write_untrained
from helpers.policies import StepCounter
from rllib_ride.analysis.episode_record import Kind
from rllib_ride.analysis.policy import Policy
from rllib_ride.analysis.record import Agent, load_agent, record, record_episode
from rllib_ride.intrinsic import get_method
from rllib_ride.rllib.module import IntrinsicModule

ENV = "MiniGrid-MultiRoom-N2-S4-v0"  # of the fixture `checkpoints`
IMAGE, ACTIONS = gym.spaces.Box(0, 255, (7, 7, 3), np.uint8), gym.spaces.Discrete(7)


def scripted_agent(method: str | None, steps: int = 23, counts: str = "view") -> Agent:
    """Repeats left, right, forward, pickup, drop, toggle, done in the small level."""
    spec = RLModuleSpec(
        module_class=StepCounter, observation_space=IMAGE, action_space=ACTIONS, model_config={}
    )
    policy = Policy(spec.build(), small_level.ENV_ID, {"max_steps": steps}, frames_trained=5)
    if method is None:
        return Agent(policy, None)
    config = {
        "method": method,
        "method_class": get_method(method),
        "method_config": {},
        "counts": counts,
        "observation_key": None,
    }
    return Agent(
        policy,
        IntrinsicModule(observation_space=IMAGE, action_space=ACTIONS, model_config=config),
    )


def oracle(steps: int = 23) -> tuple[list[tuple[int, int]], list[float]]:
    """Positions and 1 / sqrt(N_ep) of the same episode, N_ep of views, step by step."""
    env = gym.make(small_level.ENV_ID, max_steps=steps)
    obs, _ = env.reset()
    visits, positions, bonuses = Counter([obs.tobytes()]), [env.unwrapped.agent_pos], []
    for t in range(steps):
        obs, *_ = env.step(t % 7)
        visits[obs.tobytes()] += 1
        bonuses.append(visits[obs.tobytes()] ** -0.5)
        positions.append(env.unwrapped.agent_pos)
    return [(int(x), int(y)) for x, y in positions], bonuses


def test_a_scripted_episode_is_recorded_step_by_step():
    recorded = record(scripted_agent("only_episodic_counts"), episodes=1, seed=0, keep_grids=True)

    (episode,) = recorded.episodes
    positions, bonuses = oracle()
    assert [tuple(p) for p in episode.positions.tolist()] == positions
    np.testing.assert_allclose(episode.bonuses, bonuses, rtol=1e-6)
    idle, turn, move = Kind.NO_EFFECT, Kind.TURN, Kind.MOVE_FORWARD
    # Left, right, forward to (1, 1), and nothing in front; then the wall to bump into.
    assert episode.kinds[:7] == (turn, turn, move, idle, idle, idle, idle)
    assert episode.kinds[7:14] == (turn, turn, idle, idle, idle, idle, idle)
    assert episode.directions[:4].tolist() == [2, 1, 2, 2]
    assert episode.grids.shape == (24, 8, 4, 3)
    assert (recorded.method, recorded.frames_trained) == ("only_episodic_counts", 5)
    assert recorded.level.start == small_level.START


def test_each_of_many_episodes_is_recorded_alone_and_paid_by_the_counts_of_the_checkpoint():
    """Each episode begins with the checkpoint's Count table, which is empty."""
    recorded = record(scripted_agent("count"), episodes=35, seed=0)

    positions, bonuses = oracle()
    first_visit = 2**-0.5  # N_ep counts the start too; N counts only states that were paid for
    assert len(recorded.episodes) == 35
    for episode in recorded.episodes:
        assert [tuple(p) for p in episode.positions.tolist()] == positions
        np.testing.assert_allclose(episode.bonuses, recorded.episodes[0].bonuses)
    assert recorded.episodes[0].bonuses[0] == 1.0
    assert recorded.episodes[0].bonuses[1] == 1.0 > bonuses[1] == pytest.approx(first_visit)


def test_a_method_that_reads_no_counts_needs_no_key_of_the_state():
    """As in training: the small level has no `state_key`."""
    (episode,) = record(scripted_agent("icm", counts="full"), episodes=1, seed=0).episodes

    assert len(episode) == 23 and (episode.paid() > 0).any()


def test_without_a_bonus_there_is_the_path_alone():
    recorded = record(scripted_agent(None), episodes=2, seed=0)

    assert recorded.method == "none"
    for episode in recorded.episodes:
        assert episode.bonuses is None and len(episode) == 23


def test_a_dict_is_recorded_as_the_image_in_it_is(
    checkpoints: dict[str, Path], tmp_path: Path
) -> None:
    write_untrained(tmp_path, "ride", ENV, {"observation": "dict"}, counts="none")
    (of_dict,) = record_episode(tmp_path, seed=1).episodes
    (of_image,) = record_episode(checkpoints["ride_full"], seed=1).episodes
    assert of_dict.kinds == of_image.kinds
    # The same networks; with counts="none" the bonus is not divided by sqrt(N_ep).
    assert of_dict.paid()[0] == pytest.approx(of_image.paid()[0])
    assert of_dict.paid().sum() > of_image.paid().sum()


def test_the_same_seed_plays_the_same_episode(checkpoints: dict[str, Path]) -> None:
    first, again, other = (
        record_episode(checkpoints["ride_full"], seed=seed) for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(first.episodes[0].positions, again.episodes[0].positions)
    np.testing.assert_array_equal(first.episodes[0].paid(), again.episodes[0].paid())
    np.testing.assert_array_equal(first.level.walls, again.level.walls)
    assert (first.level.walls != other.level.walls).any()
    assert (first.env, first.method, first.level.walls.shape) == (ENV, "ride", (25, 25))
    assert 1 <= len(first.episodes[0]) <= 40
    assert (first.episodes[0].paid() >= 0).all()


def test_all_episodes_begin_in_the_level_of_the_seed(checkpoints: dict[str, Path]) -> None:
    recorded = record(load_agent(checkpoints["none_full"]), episodes=40, seed=5)
    env = gym.make(ENV).unwrapped
    env.reset(seed=5)
    for episode in recorded.episodes:
        assert tuple(episode.positions[0]) == tuple(env.agent_pos) == recorded.level.start
        for x, y in episode.positions:
            assert not recorded.level.walls[y, x]
    assert len({episode.kinds for episode in recorded.episodes}) > 30


def test_a_state_seen_again_is_discounted_by_its_count(checkpoints: dict[str, Path]) -> None:
    """A blocked move changes nothing: no impact, whichever way states are counted."""
    for name in ("ride_full", "ride_view"):
        (episode,) = record_episode(checkpoints[name], seed=1).episodes
        idle = np.array(episode.kinds) == Kind.NO_EFFECT
        assert idle.any() and episode.paid()[idle].max() == pytest.approx(0, abs=1e-6)


def test_refuses_what_has_no_bonus(checkpoints: dict[str, Path], tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="trained without a bonus"):
        record_episode(checkpoints["none_full"], seed=1)
    with pytest.raises(ValueError, match="no checkpoint"):
        record_episode(tmp_path, seed=1)
