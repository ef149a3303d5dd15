"""An episode played from a checkpoint, and the bonus of its steps."""

from __future__ import annotations

from pathlib import Path

import pytest

from rllib_ride.analysis import Kind
from rllib_ride.analysis.record import record_episode
from rllib_ride.rllib.presets import make_config

ENV = "MiniGrid-MultiRoom-N2-S4-v0"


@pytest.fixture(scope="module")
def checkpoints(ray_session: None, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Untrained algorithms by method and counts."""
    paths = {}
    for method, counts in (("ride", "full"), ("ride", "view"), ("none", "full")):
        config = make_config(
            preset="paper", method=method, env=ENV, frames=1e4, seed=1, intrinsic={"counts": counts}
        )
        algo = config.env_runners(num_envs_per_env_runner=1).build_algo()
        path = tmp_path_factory.mktemp(f"{method}_{counts}")
        algo.save_to_path(str(path))
        algo.stop()
        paths[f"{method}_{counts}"] = path
    return paths


def test_a_dict_is_recorded_as_the_image_in_it_is(
    checkpoints: dict[str, Path], tmp_path: Path
) -> None:
    config = make_config(
        preset="paper",
        method="ride",
        env=ENV,
        env_options={"observation": "dict"},
        frames=1e4,
        seed=1,
        intrinsic={"counts": "none"},
    )
    algo = config.env_runners(num_envs_per_env_runner=1).build_algo()
    algo.save_to_path(str(tmp_path))
    algo.stop()
    of_dict = record_episode(tmp_path, seed=1)
    of_image = record_episode(checkpoints["ride_full"], seed=1)
    assert [step.action for step in of_dict.steps] == [step.action for step in of_image.steps]
    # The same networks: a bonus that counts nothing is the other's without its counts.
    assert of_dict.steps[0].bonus == pytest.approx(of_image.steps[0].bonus)
    assert sum(s.bonus for s in of_dict.steps) > sum(s.bonus for s in of_image.steps)


def test_the_same_seed_plays_the_same_episode(checkpoints: dict[str, Path]) -> None:
    first, again, other = (
        record_episode(checkpoints["ride_full"], seed=seed) for seed in (1, 1, 2)
    )
    assert first.steps == again.steps
    assert (first.level == again.level).all()
    assert first.steps != other.steps
    assert (first.env, first.method, first.size) == (ENV, "ride", (25, 25))
    assert 1 <= len(first.steps) <= 40
    assert all(step.bonus >= 0 for step in first.steps)


def test_a_turn_that_is_seen_is_told_and_a_blocked_move_is_none(
    checkpoints: dict[str, Path],
) -> None:
    record = record_episode(checkpoints["ride_full"], seed=1)
    position, direction = record.start, None
    for step in record.steps:
        if step.kind == Kind.MOVE_FORWARD:
            assert step.action == "forward" and step.position != position
        else:
            assert step.position == position
        if step.kind == Kind.TURN:
            assert step.action in ("left", "right") and step.direction != direction
        position, direction = step.position, step.direction


def test_a_state_seen_again_is_discounted_by_its_count(checkpoints: dict[str, Path]) -> None:
    """A blocked move changes nothing: no impact, whichever way states are counted."""
    for name in ("ride_full", "ride_view"):
        record = record_episode(checkpoints[name], seed=1)
        idle = [step.bonus for step in record.steps if step.kind == Kind.OTHER]
        assert idle and max(idle) == pytest.approx(0, abs=1e-6)


def test_refuses_what_has_no_bonus(checkpoints: dict[str, Path], tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="trained without a bonus"):
        record_episode(checkpoints["none_full"], seed=1)
    with pytest.raises(ValueError, match="no checkpoint"):
        record_episode(tmp_path, seed=1)
