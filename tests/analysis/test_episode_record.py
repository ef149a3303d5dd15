"""An action's kind is its effect on the grid."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from minigrid.core.actions import Actions

from helpers.small_level import SmallLevel, two_episodes
from rllib_ride.analysis.episode_record import INTERACTIONS, Facts, Kind, kind_of
from rllib_ride.analysis.record import facts_of

BEFORE = Facts(position=(2, 3), direction=0, open_doors=1, boxes=1, carries=None)


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        ({"open_doors": 2}, Kind.OPEN_DOOR),
        ({"open_doors": 0}, Kind.CLOSE_DOOR),
        ({"position": (3, 3)}, Kind.MOVE_FORWARD),
        ({"direction": 3}, Kind.TURN),
        ({"carries": "key"}, Kind.PICK_KEY),
        ({"carries": "ball"}, Kind.PICK_BALL),
        ({"carries": "box", "boxes": 0}, Kind.PICK_BOX),
        ({"boxes": 0}, Kind.OPEN_BOX),
        ({}, Kind.NO_EFFECT),
    ],
)
def test_kind_is_what_changed(change, kind):
    assert kind_of(BEFORE, replace(BEFORE, **change)) == kind


@pytest.mark.parametrize("thing", ["key", "ball", "box"])
def test_a_thing_put_down_is_dropped(thing):
    before = replace(BEFORE, carries=thing)
    after = replace(BEFORE, boxes=2) if thing == "box" else BEFORE
    assert kind_of(before, after) == Kind(f"drop {thing}")


def test_each_action_of_a_scripted_episode_is_told_by_what_it_did():
    a = Actions
    script = [  # from (2, 1), looking left; the box with the key is at (1, 2), the door at (3, 1)
        (a.toggle, Kind.NO_EFFECT),  # at an empty cell
        (a.pickup, Kind.NO_EFFECT),
        (a.forward, Kind.MOVE_FORWARD),  # to (1, 1)
        (a.forward, Kind.NO_EFFECT),  # the wall
        (a.left, Kind.TURN),  # looks down at the box
        (a.pickup, Kind.PICK_BOX),
        (a.drop, Kind.DROP_BOX),
        (a.toggle, Kind.OPEN_BOX),
        (a.toggle, Kind.NO_EFFECT),  # at the key
        (a.pickup, Kind.PICK_KEY),
        (a.drop, Kind.DROP_KEY),
        (a.done, Kind.NO_EFFECT),
        (a.pickup, Kind.PICK_KEY),
        (a.left, Kind.TURN),  # looks right
        (a.forward, Kind.MOVE_FORWARD),  # to (2, 1), before the door
        (a.forward, Kind.NO_EFFECT),
        (a.toggle, Kind.OPEN_DOOR),
        (a.toggle, Kind.CLOSE_DOOR),
        (a.toggle, Kind.OPEN_DOOR),
        (a.drop, Kind.NO_EFFECT),  # into an open door
        (a.forward, Kind.MOVE_FORWARD),  # into the door
        (a.right, Kind.TURN),
        (a.left, Kind.TURN),
        (a.forward, Kind.MOVE_FORWARD),  # out of it
        (a.drop, Kind.DROP_KEY),
        (a.forward, Kind.NO_EFFECT),  # the key is in the way
    ]
    env = SmallLevel()
    env.reset()
    facts, kinds = facts_of(env), []
    for action, _ in script:
        env.step(action)
        before, facts = facts, facts_of(env)
        kinds.append(kind_of(before, facts))
    assert kinds == [kind for _, kind in script]


def test_things_are_done_to_the_cell_in_front_and_all_else_where_the_agent_is():
    first, second = two_episodes()
    assert first.places().tolist() == [[2, 1], [2, 1], [3, 1], [3, 1], [4, 1]]
    assert second.places().tolist() == [[1, 1], [1, 1], [1, 1]]
    assert len(first) == 5
    looks = {0: (3, 1), 1: (2, 2), 2: (1, 1), 3: (2, 0)}
    for kind in INTERACTIONS:
        for direction, place in looks.items():
            directions = np.array([direction, direction])
            done = replace(
                second, positions=np.array([[2, 1], [2, 1]]), directions=directions, kinds=(kind,)
            )
            assert done.places().tolist() == [list(place)]


def test_an_episode_without_a_bonus_says_so():
    with pytest.raises(ValueError, match="trained without a bonus"):
        two_episodes(with_bonus=False)[0].paid()
