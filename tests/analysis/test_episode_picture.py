from dataclasses import replace

import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.image import imread

from rllib_ride.analysis import EpisodeRecord, Facts, Kind, Step, kind_of, write_episode_picture
from rllib_ride.analysis.episode_picture import STYLES, draw_episode, level_window, marker_places

BEFORE = Facts(position=(2, 3), direction=0, open_doors=1, carries=False)


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        ({"open_doors": 2}, Kind.OPEN_DOOR),
        ({"open_doors": 0}, Kind.OTHER),
        ({"position": (3, 3)}, Kind.MOVE_FORWARD),
        ({"direction": 3}, Kind.TURN),
        ({"carries": True}, Kind.PICK_OR_DROP),
        ({}, Kind.OTHER),
    ],
)
def test_kind_is_what_happened_in_the_grid(change, kind):
    assert kind_of(BEFORE, replace(BEFORE, **change)) == kind


def step(position, direction, kind, bonus, reward=0.0):
    return Step(position, direction, "an action", kind, bonus, reward)


def record(**changes):
    """Turn right, open the door to the right, walk through it: from (1, 1), looking up."""
    level = np.zeros((4 * 6, 4 * 8, 3), dtype=np.uint8)  # 8x6 cells of 4 pixels
    level[4:12, 4:20] = 100  # cells (1..4, 1..2) are used
    steps = [
        step((1, 1), 0, Kind.TURN, 0.01),
        step((1, 1), 0, Kind.OPEN_DOOR, 0.04),
        step((2, 1), 0, Kind.MOVE_FORWARD, 0.02),
        step((3, 1), 0, Kind.MOVE_FORWARD, 0.03, reward=0.9),
    ]
    whole = EpisodeRecord("Env-v0", "ride", level, (8, 6), (1, 1), steps)
    return replace(whole, **changes)


def test_markers_stand_where_the_action_had_its_effect():
    np.testing.assert_allclose(marker_places(record()), [[1.3, 1], [2, 1], [1.5, 1], [2.5, 1]])


def test_window_shows_the_used_cells_and_a_margin():
    assert level_window(record()) == (0, 6, 0, 4)
    plain = np.full((24, 32, 3), 7, dtype=np.uint8)
    assert level_window(record(level=plain)) == (0, 8, 0, 6)


def test_draws_path_and_markers_over_the_level():
    level = draw_episode(record()).axes[0]

    np.testing.assert_array_equal(level.get_lines()[0].get_xdata(), [1, 1, 1, 2, 3])
    markers = {scatter.get_label(): scatter for scatter in level.collections}
    forward = markers[Kind.MOVE_FORWARD]
    np.testing.assert_allclose(forward.get_offsets(), [[1.5, 1], [2.5, 1]])
    np.testing.assert_allclose(
        forward.get_sizes() / markers[Kind.OPEN_DOOR].get_sizes(), [0.02 / 0.04, 0.03 / 0.04]
    )
    assert to_hex(forward.get_facecolor()[0]).upper() == STYLES[Kind.MOVE_FORWARD].color
    assert level.get_ylim() == (3.5, -0.5)  # y downwards, as in MiniGrid


def test_draws_the_bonus_of_each_step_in_the_colour_of_its_kind():
    figure = draw_episode(record())
    bonuses = figure.axes[1]

    points = {
        to_hex(s.get_facecolor()[0]).upper(): np.asarray(s.get_offsets()).tolist()
        for s in bonuses.collections
        if len(s.get_offsets()) and s.get_label().partition(":")[0] in list(Kind)
    }
    assert points == {
        STYLES[Kind.TURN].color: [[1, 0.01]],
        STYLES[Kind.OPEN_DOOR].color: [[2, 0.04]],
        STYLES[Kind.MOVE_FORWARD].color: [[3, 0.02], [4, 0.03]],
    }
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert labels == [
        "open door: 1, mean 0.0400",
        "move forward: 2, mean 0.0250",
        "turn left or right: 1, mean 0.0100",
    ]
    assert [text.get_text() for text in bonuses.texts] == ["reward 0.90"]
    assert "step" in bonuses.get_xlabel() and "intrinsic reward" in bonuses.get_ylabel()
    assert "return 0.90 in 4 steps" in figure.get_suptitle()


def test_an_episode_without_any_bonus_can_be_drawn(tmp_path):
    path = tmp_path / "intrinsic_episode.png"
    idle = record(steps=[step((1, 1), 3, Kind.OTHER, 0.0)])

    assert write_episode_picture(idle, path) == path
    assert imread(path)[..., :3].std() > 0


def test_an_episode_without_steps_is_refused():
    with pytest.raises(ValueError, match="at least one step"):
        draw_episode(record(steps=[]))


def test_an_unknown_kind_is_refused():
    with pytest.raises(ValueError, match="dance"):
        draw_episode(record(steps=[step((1, 1), 3, "dance", 0.0)]))
