import pytest

from rllib_ride.analysis.palette import line_styles, sort_key

PAPER = ["ride", "icm", "rnd", "count", "none"]


@pytest.mark.parametrize("method", PAPER)
def test_a_method_looks_the_same_whatever_it_is_drawn_with(method):
    alone = line_styles([method])[method]

    assert line_styles([*PAPER, "mine"])[method] == alone
    assert line_styles(["mine", "theirs", method])[method] == alone


def test_of_variants_alone_the_first_looks_like_its_method():
    plain = line_styles(["ride", "none"])
    styles = line_styles(["ride (IMPALA)", "ride (PPO)", "none (PPO)", "mine (PPO)"])

    assert styles["ride (IMPALA)"] == plain["ride"] and styles["none (PPO)"] == plain["none"]
    assert len(set(styles.values())) == 4
    assert line_styles(["ride (lr=1)", "ride"])["ride"] == plain["ride"]


def test_forty_lines_differ_and_none_looks_like_a_paper_method():
    styles = line_styles([*PAPER, *(f"ride (lr={i})" for i in range(35))])

    assert len(set(styles.values())) == 40


def test_more_lines_than_styles_are_still_drawn():
    assert len(line_styles(map(str, range(100)))) == 100


def test_legend_order_is_the_papers_then_the_alphabet():
    labels = ["zeta", "none", "alpha", "ride (lr=2)", "count", "ride (lr=1)"]

    assert sorted(labels, key=sort_key) == [
        "ride (lr=1)",
        "ride (lr=2)",
        "count",
        "none",
        "alpha",
        "zeta",
    ]
