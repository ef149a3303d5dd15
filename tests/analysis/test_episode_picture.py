import numpy as np
import pytest
from matplotlib.collections import PathCollection
from matplotlib.colors import to_hex
from matplotlib.image import imread

from helpers.small_level import episode, recording, two_episodes
from rllib_ride.analysis.episode_picture import (
    STYLES,
    draw_episode,
    marker_places,
    write_episode_picture,
)
from rllib_ride.analysis.episode_record import Kind


def by_color(axes):
    """Offsets of the scatters in an axes, by the name of their style."""
    names = {style.color: style.name for style in STYLES.values()}
    return {
        names[to_hex(scatter.get_facecolor()[0]).upper()]: scatter
        for scatter in axes.collections
        if isinstance(scatter, PathCollection)
    }


def test_every_kind_has_a_look():
    assert set(STYLES) == set(Kind)


def test_markers_stand_where_the_action_had_its_effect():
    np.testing.assert_allclose(
        marker_places(two_episodes()[0]), [[2, 0.7], [2.3, 1], [3, 1], [2.5, 1], [3.5, 1]]
    )


def test_draws_path_and_markers_over_the_level():
    level = draw_episode(recording()).axes[0]

    np.testing.assert_array_equal(level.get_lines()[0].get_xdata(), [2, 2, 2, 2, 3, 4])
    markers = by_color(level)
    forward = markers["move forward"]
    np.testing.assert_allclose(forward.get_offsets(), [[2.5, 1], [3.5, 1]])
    np.testing.assert_allclose(
        forward.get_sizes() / markers["open door"].get_sizes(), [0.04 / 0.08, 0.02 / 0.08]
    )
    assert level.get_ylim() == (3.5, -0.5)  # y downwards, as in MiniGrid
    assert level.get_xlim() == (-0.5, 7.5)


def test_draws_the_bonus_of_each_step_in_the_look_of_its_kind():
    figure = draw_episode(recording())
    bonuses = figure.axes[1]

    points = {
        name: np.asarray(scatter.get_offsets()).tolist()
        for name, scatter in by_color(bonuses).items()
    }
    assert points == {
        "turn left or right": [[1, 0.01], [2, 0.03]],
        "open door": [[3, 0.08]],
        "move forward": [[4, 0.04], [5, 0.02]],
    }
    assert [text.get_text() for text in figure.legends[0].get_texts()] == [
        "open door: 1, mean 0.0800",
        "move forward: 2, mean 0.0300",
        "turn left or right: 2, mean 0.0200",
    ]
    assert [text.get_text() for text in bonuses.texts] == ["reward 0.90"]
    assert "step" in bonuses.get_xlabel() and "intrinsic reward" in bonuses.get_ylabel()
    assert "return 0.90 in 5 steps" in figure.get_suptitle()


def test_kinds_of_one_look_are_drawn_together():
    steps = [((2, 1), 2, kind, 0.5) for kind in (Kind.PICK_KEY, Kind.DROP_KEY, Kind.PICK_BALL)]
    bonuses = draw_episode(recording(episode(*steps))).axes[1]
    (scatter,) = by_color(bonuses).values()
    assert scatter.get_label() == "pick, drop or open box: 3, mean 0.5000"


def test_an_episode_without_any_bonus_can_be_drawn(tmp_path):
    path = tmp_path / "intrinsic_episode.png"
    idle = recording(episode(((2, 1), 3, Kind.NO_EFFECT, 0.0)))

    assert write_episode_picture(idle, path) == path
    assert imread(path)[..., :3].std() > 0


def test_an_episode_of_a_policy_without_intrinsic_reward_is_refused():
    with pytest.raises(ValueError, match="without a bonus"):
        draw_episode(recording(*two_episodes(with_bonus=False)))
