import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex

from rllib_ride.analysis.palette import line_styles
from rllib_ride.analysis.scores import ALL_TASKS
from rllib_ride.analysis.scores_picture import draw_scores

METHODS = ["ride", "none", "mine"]
STYLES = line_styles(METHODS)


def means_of(envs):
    rows = [
        (env, method, 0.1 * i + j, 0.1 * i + j - 0.05, 0.1 * i + j + 0.05)
        for j, env in enumerate(envs)
        for i, method in enumerate(METHODS)
    ]
    return pd.DataFrame(rows, columns=["env", "method", "iqm", "low", "high"])


BETTER = pd.DataFrame(
    [("ride", "none", 0.9, 0.7, 1.0), ("ride", "mine", 0.4, np.nan, np.nan)],
    columns=["method", "other", "probability", "low", "high"],
)


def points(panel):
    return {
        line.get_label(): (line.get_xdata()[0], to_hex(line.get_color()).upper())
        for line in panel.get_lines()
        if not line.get_label().startswith("_")
    }


def bars(panel):
    return np.array([bar.get_segments()[0][:, 0] for bar in panel.collections])


def test_points_and_bars_are_the_tables_in_the_methods_colours():
    left, right = draw_scores(means_of(["A", ALL_TASKS]), BETTER, STYLES).axes

    assert points(left) == {
        method: (pytest.approx(1 + 0.1 * i), STYLES[method].color)
        for i, method in enumerate(METHODS)
    }
    np.testing.assert_allclose(bars(left), [[0.95 + 0.1 * i, 1.05 + 0.1 * i] for i in range(3)])
    assert points(right) == {
        "none": (0.9, STYLES["none"].color),
        "mine": (0.4, STYLES["mine"].color),
    }
    np.testing.assert_allclose(bars(right), [[0.7, 1.0]])
    assert [text.get_text() for text in right.get_yticklabels()] == ["none", "mine"]
    assert left.get_title() == ALL_TASKS and right.get_title() == "ride over each other"


def test_one_task_is_drawn_as_it_is_and_of_several_none_is_picked():
    (left, _) = draw_scores(means_of(["A-v0"]), BETTER, STYLES).axes
    assert left.get_title() == "A" and len(points(left)) == 3

    (only,) = draw_scores(means_of(["A", "B"]), BETTER, STYLES).axes
    assert only.get_title() == "ride over each other"


def test_nothing_to_draw_is_an_empty_panel():
    (panel,) = draw_scores(pd.DataFrame(), pd.DataFrame(), STYLES).axes

    assert not panel.has_data()
