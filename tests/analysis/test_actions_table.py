"""The paper's tables with a run's own numbers."""

from __future__ import annotations

import numpy as np
import pytest

from helpers.small_level import episode, recording
from rllib_ride.analysis.actions_table import (
    PAPER,
    _columns,
    actions_table,
    kinds_table,
    to_markdown,
)
from rllib_ride.analysis.episode_record import Kind

OBSTRUCTED = "MiniGrid-ObstructedMaze-2Dlh-v0"


def test_numbers_of_multiroom_by_hand():
    table = actions_table({"mine": recording()}).set_index("action")

    assert list(table.index) == ["Open Door", "Turn Left / Right", "Move Forward", "Other"]
    assert list(table["count"]) == [1, 3, 3, 1]
    np.testing.assert_allclose(table["mean"], [0.08, 0.03, 0.04, 0.0])
    std = np.sqrt(2 / 3) * 0.02
    np.testing.assert_allclose(table["std"], [0.0, std, std, 0.0], atol=1e-12)
    np.testing.assert_array_equal(table.paper_mean, [0.0490, 0.0071, 0.0181, np.nan])
    np.testing.assert_array_equal(table.paper_std, [0.0019, 0.0034, 0.0116, np.nan])
    assert set(table.label) == {"mine"} and set(table.method) == {"ride"}


def test_numbers_of_the_obstructed_maze_by_hand():
    played = recording(
        episode(
            ((2, 1), 2, Kind.PICK_KEY, 0.2),
            ((2, 1), 2, Kind.DROP_KEY, 0.3),
            ((2, 1), 2, Kind.OPEN_BOX, 0.4),
            ((2, 1), 1, Kind.TURN, 0.6),
        ),
        method="rnd",
        env=OBSTRUCTED,
    )
    table = actions_table({"rnd": played}).set_index("action")

    assert list(table.index) == ["Open Door", "Pick Ball", "Pick Key", "Drop Key", "Other"]
    assert list(table["count"]) == [0, 0, 1, 1, 2]
    np.testing.assert_allclose(table["mean"], [np.nan, np.nan, 0.2, 0.3, 0.5])
    np.testing.assert_array_equal(table.paper_mean, [0.0034, 0.0027, 0.0026, 0.0030, 0.0025])
    kinds = kinds_table({"rnd": played})
    assert dict(zip(kinds.kind, kinds["mean"], strict=True)) == {
        "open box": 0.4,
        "pick key": 0.2,
        "drop key": 0.3,
        "turn left or right": 0.6,
    }


@pytest.mark.parametrize("env", [*PAPER, "MiniGrid-KeyCorridorS3R3-v0"])
def test_every_kind_is_in_one_column_and_the_papers_columns_are_there(env):
    columns = _columns(env)

    kinds = [kind for column in columns.values() for kind in column]
    assert sorted(kinds) == sorted(Kind)
    for numbers in PAPER[env].numbers.values() if env in PAPER else ():
        assert numbers.keys() <= columns.keys()


def test_markdown_has_the_papers_row_below_ones_own_and_none_where_it_has_none():
    count = recording(method="count")
    text = to_markdown({"ride": recording(), "count": count}, "About this.")
    lines = text.splitlines()

    own = lines.index(
        "| ride | 0.0800 | 0.0000 | 0.0300 | 0.0163 | 0.0400 | 0.0163 | 0.0000 | 0.0000 |"
    )
    assert lines[own - 2].startswith(
        "| Model | Open Door Mean | Open Door Std | Turn Left / Right M"
    )
    assert lines[own + 1] == (
        "| ride, paper | 0.0490 | 0.0019 | 0.0071 | 0.0034 | 0.0181 | 0.0116 | - | - |"
    )
    assert lines[own + 2].startswith("| count | 0.0800")
    assert not lines[own + 3]
    assert "About this." in lines and "table 1 (tab:intrinsic_reward_n7s4)" in text
    assert "| ride | turn left or right | 3 | 0.0300 | 0.0163 |" in lines


def test_small_numbers_of_the_paper_keep_their_digits():
    text = to_markdown({"ride": recording(env=OBSTRUCTED)}, "")
    assert "| ride, paper | 0.0005 | 0.0002 | 0.0004 | 0.0001 | 0.0004 | 0.00001 | 0.0004 " in text


def test_elsewhere_nothing_is_said_of_the_paper():
    played = {"ride": recording(env="MiniGrid-MultiRoom-N10-S4-v0")}
    assert actions_table(played).paper_mean.isna().all()
    assert "paper" not in to_markdown(played, "")
