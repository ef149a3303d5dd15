"""The data that heatmaps draw, panel by panel."""

from __future__ import annotations

import numpy as np
import pytest

from helpers.small_level import episode, recording, small_level, two_episodes
from rllib_ride.analysis.episode_record import Kind
from rllib_ride.analysis.heatmaps import DOORS, OBJECTS, draw_intrinsic, draw_visits, panels_for
from rllib_ride.analysis.level_picture import letters_of


def panels(figure):
    """Panels with a heatmap: title, heat image and axes."""
    return [(ax.get_title(), ax.images[0], ax) for ax in figure.axes if len(ax.images) == 2]


def cells(image):
    """The coloured cells of a heat image, (x, y), and their values."""
    heat = image.get_array()
    return {
        (int(x), int(y)): pytest.approx(float(heat[y, x]))
        for y, x in zip(*np.nonzero(~np.ma.getmaskarray(heat)), strict=True)
    }


def test_visits_one_panel_a_recording_in_one_scale():
    idle = recording(two_episodes()[1], method="none")
    figure = draw_visits({"ride": recording(), "none": idle}, "Level 7")

    (ride_title, ride, ax), (none_title, none, _) = panels(figure)
    assert cells(ride) == {(2, 1): 2.5, (3, 1): 0.5, (4, 1): 0.5, (1, 1): 1.5}
    assert cells(none) == {(2, 1): 1.0, (1, 1): 3.0}
    assert ride_title == "ride\nrooms: mean 1.5, most 2 of 2"
    assert none_title == "none\nrooms: mean 1.0, most 1 of 2"
    assert ride.norm is none.norm and (ride.norm.vmin, ride.norm.vmax) == (0.5, 3.0)
    assert ride.get_extent() == [-0.5, 7.5, 3.5, -0.5]  # as the walls over it
    assert ax.images[1].get_array()[..., 3].astype(bool).tolist() == small_level().walls.tolist()
    assert figure.get_suptitle() == "Level 7"
    assert "visits an episode" in figure.axes[-1].get_ylabel()


@pytest.mark.parametrize("number", [1, 4, 7])
def test_visits_of_any_number_of_recordings(number):
    figure = draw_visits({f"method {i}": recording() for i in range(number)}, "Level")
    assert len(panels(figure)) == number


def test_visits_all_alike_have_a_scale():
    once = recording(episode(((1, 1), 2, Kind.MOVE_FORWARD, 0.0)))
    ((_, image, _),) = panels(draw_visits({"ride": once}, "Level"))
    assert image.norm.vmin < image.norm.vmax == 1.0


def test_bonuses_one_panel_a_kind_and_one_scale_a_recording():
    paler = recording(two_episodes()[1], method="icm")
    figure = draw_intrinsic({"ride": recording(), "icm": paler}, "Level")

    drawn = {title: image for title, image, _ in panels(figure)}
    assert {title: cells(image) for title, image in drawn.items()} == {
        "ride\nopen door": {(3, 1): 0.08},
        "ride\nmove forward": {(3, 1): 0.04, (4, 1): 0.02, (1, 1): 0.06},
        "ride\nturn left or right": {(2, 1): 0.02, (1, 1): 0.05},
        "icm\nopen door": {},
        "icm\nmove forward": {(1, 1): 0.06},
        "icm\nturn left or right": {(1, 1): 0.05},
    }
    for title, image in drawn.items():
        assert image.get_clim() == (0.0, 0.08 if title.startswith("ride") else 0.06)
    hues = [image.cmap(1.0)[:3] for image in list(drawn.values())[:3]]
    assert [int(np.argmax(hue)) for hue in hues] == [1, 2, 0]  # green, blue, red
    assert any("intrinsic reward" in ax.get_ylabel() for ax in figure.axes)


def test_green_is_for_all_that_was_done_to_objects_if_there_was_more_than_doors():
    keys = recording(episode(((2, 1), 2, Kind.PICK_KEY, 0.1)))
    assert panels_for({"ride": recording()})[0] is DOORS
    assert panels_for({"ride": recording(), "rnd": keys})[0] is OBJECTS
    drawn = {title: image for title, image, _ in panels(draw_intrinsic({"ride": keys}, ""))}
    assert cells(drawn["ride\ninteract with objects"]) == {(1, 1): 0.1}


def test_letters_are_explained_where_they_occur():
    text = letters_of(small_level())
    assert text.startswith("A: agent's start")
    assert [part.strip()[0] for part in text.split(",  ")] == ["A", "G", "D", "K", "B"]
