import numpy as np
import pandas as pd
import pytest

from helpers.run_folders import write_trial
from rllib_ride.analysis.runs import read_runs
from rllib_ride.analysis.scores import (
    ALL_TASKS,
    improvements,
    interquartile_mean,
    interquartile_means,
    probability_of_improvement,
    scores,
)


def table_of(values):
    """Scores of {(env, method): [one score per seed]}."""
    rows = [
        (env, method, seed, 100.0, score)
        for (env, method), of_seeds in values.items()
        for seed, score in enumerate(of_seeds)
    ]
    return pd.DataFrame(rows, columns=["env", "method", "seed", "frames", "score"])


def test_runs_of_a_task_are_scored_at_the_frame_half_of_every_methods_seeds_reached(tmp_path):
    """Oracle: straight lines. Half of `ride` reach 300, half of `none` 250: all are read at 250."""
    for method, ends in {"ride": (400, 300, 100), "none": (250, 245)}.items():
        for seed, end in enumerate(ends):
            frames = np.linspace(0, end, 4 + seed)
            write_trial(tmp_path, method=method, seed=seed, frames=frames, return_mean=frames / 1e3)
    write_trial(tmp_path, seed=9, frames=[], return_mean=[])

    got = scores(read_runs([tmp_path]).runs).sort_values(["method", "seed"])

    assert got["method"].tolist() == ["none", "none", "ride", "ride"]
    assert set(got["frames"]) == {250}
    # A seed that ends less than a twentieth before counts with its last value.
    np.testing.assert_allclose(got["score"], [0.25, 0.245, 0.25, 0.25])


def test_a_run_that_has_ended_solved_keeps_its_last_value(tmp_path):
    """Seeds 1 and 2 stop at 0.7; of `none` seed 1 goes on, and seed 2 was cut off."""
    ended = {"stop_at_return": 0.7, "ended": {}}
    for seed, end in ((1, 100), (2, 300)):
        returns = [0.1, 0.7]
        write_trial(tmp_path, seed=seed, record=ended, frames=[0, end], return_mean=returns)
    none = {"method": "none", "return_mean": [0.0, 0.1]}
    write_trial(tmp_path, seed=1, record=ended, frames=[0, 400], **none)
    write_trial(tmp_path, seed=2, record={"stop_at_return": 0.7}, frames=[0, 50], **none)

    got = scores(read_runs([tmp_path]).runs).sort_values(["method", "seed"])

    assert got["method"].tolist() == ["none", "ride", "ride"]
    assert set(got["frames"]) == {400}
    np.testing.assert_allclose(got["score"], [0.1, 0.7, 0.7])


def test_a_run_is_not_scored_at_more_training_than_the_others(tmp_path):
    """`none` is read at 100; `late` has its first return after that, `few` of few episodes."""
    write_trial(tmp_path, method="none", frames=[0, 100], return_mean=[0.0, 0.1])
    write_trial(tmp_path, method="late", frames=[50, 150, 200], return_mean=[None, 0.8, 0.8])
    write_trial(
        tmp_path, method="few", frames=[50, 150, 200], return_mean=[0.9, 0.7, 0.7],
        episodes=[99, 100, 200],
    )  # fmt: skip
    write_trial(tmp_path, method="ride", frames=[0, 200], return_mean=[0.0, 0.4])

    got = scores(read_runs([tmp_path]).runs).sort_values("method")

    assert got["method"].tolist() == ["none", "ride"]
    np.testing.assert_allclose(got["score"], [0.1, 0.2])


def test_without_a_value_there_is_no_score(tmp_path):
    write_trial(tmp_path, frames=[1, 2], return_mean=[None, None])

    assert scores(read_runs([tmp_path]).runs).empty


@pytest.mark.parametrize("shape", [(1, 1), (3, 1), (5, 3), (7, 2)])
def test_estimators_are_rliables(shape):
    metrics = pytest.importorskip("rliable.metrics")
    rng = np.random.default_rng(shape)
    x, y = rng.integers(0, 4, shape) / 4, rng.integers(0, 4, (4, shape[1])) / 4

    np.testing.assert_allclose(interquartile_mean(x), metrics.aggregate_iqm(x))
    np.testing.assert_allclose(
        probability_of_improvement(x, y), metrics.probability_of_improvement(x, y)
    )


def test_interquartile_means_of_each_task_and_of_all():
    pytest.importorskip("rliable")
    values = {
        ("A", "ride"): [0.1, 0.2, 0.6, 0.9, 1.0],
        ("A", "none"): [0.0, 0.0, 0.1],
        ("B", "ride"): [0.3, 0.5, 0.7],
        ("B", "none"): [0.2],
        ("Score of a game", "ride"): [300.0, 200.0],
        ("Score of a game", "none"): [100.0, 50.0],
        ("A", "of one task"): [0.5, 0.5],
    }

    means = interquartile_means(table_of(values)).set_index(["env", "method"])

    assert set(means.index) == {*values, (ALL_TASKS, "ride"), (ALL_TASKS, "none")}
    for key, of_seeds in values.items():
        row = means.loc[key]
        assert row["iqm"] == pytest.approx(interquartile_mean(np.array(of_seeds)))
        assert row["mean"] == pytest.approx(np.mean(of_seeds))
        assert row["seeds"] == len(of_seeds)
    both = np.array([values["A", "ride"][:3], values["B", "ride"]])
    ride = means.loc[ALL_TASKS, "ride"]
    assert (ride["tasks"], ride["seeds"]) == (2, 3)
    assert ride["iqm"] == pytest.approx(interquartile_mean(both))
    assert ride["low"] < ride["iqm"] < ride["high"]
    assert np.isnan(means.loc[("B", "none"), ["low", "high", "std"]].astype(float)).all()
    assert means.index[0] == (ALL_TASKS, "ride")


def test_intervals_are_the_same_each_time_and_leave_numpys_generator_alone():
    pytest.importorskip("rliable")
    table = table_of({("A", "ride"): [0.1, 0.4, 0.9], ("A", "none"): [0.0, 0.5, 0.6]})
    np.random.seed(3)
    expected = np.random.rand()

    np.random.seed(3)
    first = interquartile_means(table)
    assert np.random.rand() == expected

    pd.testing.assert_frame_equal(interquartile_means(table), first)


def test_interval_of_the_mean_of_many_seeds_is_the_normal_one():
    """Oracle: the mean of the middle half of 40 equally likely values has a known spread."""
    pytest.importorskip("rliable")
    rng = np.random.default_rng(0)
    sample = rng.uniform(size=40)
    spread = np.std([interquartile_mean(rng.choice(sample, 40)) for _ in range(4000)])

    row = interquartile_means(table_of({("A", "ride"): sample})).iloc[0]

    assert (row["high"] - row["low"]) / (2 * 1.96 * spread) == pytest.approx(1, abs=0.1)


def test_the_first_method_is_compared_with_each_other_on_the_tasks_they_share():
    pytest.importorskip("rliable")
    table = table_of(
        {
            ("A", "ride"): [0.5, 0.7, 0.9],
            ("A", "none"): [0.1, 0.7],
            ("B", "ride"): [0.0, 0.1],
            ("B", "mine"): [0.5],
            ("C", "apart"): [0.5],
        }
    )

    better = improvements(table).set_index("other")

    assert list(better.index) == ["none", "mine"] and set(better["method"]) == {"ride"}
    # Of 6 pairs 4 are better and one is equal.
    wins = np.mean([[0.5 > 0.1, 0.5 > 0.7], [True, 0.5], [True, True]])
    assert better.loc["none", "probability"] == pytest.approx(wins)
    assert better.loc["none", "low"] < wins <= better.loc["none", "high"]
    assert better.loc["mine", "probability"] == 0
    assert np.isnan(better.loc["mine", "low"])
    assert better["tasks"].tolist() == [1, 1]
