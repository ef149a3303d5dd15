import numpy as np

from helpers.run_folders import write_trial
from rllib_ride.analysis.runs import read_runs
from rllib_ride.analysis.seeds import mean_over_seeds


def test_mean_and_std_of_seeds_that_report_at_different_frames(tmp_path):
    """Oracle: three straight lines, whose values at any frame are known without interpolation."""
    slopes = np.array([1.0, 2.0, 6.0])
    for seed, (slope, count) in enumerate(zip(slopes, (5, 9, 3), strict=True)):
        frames = np.linspace(0, 1000, count)
        write_trial(tmp_path, seed=seed, frames=frames, return_mean=slope * frames)

    got = mean_over_seeds(read_runs([tmp_path]).runs, "return_mean")

    np.testing.assert_allclose(got.mean, slopes.mean() * got.frames)
    np.testing.assert_allclose(got.std, slopes.std(ddof=1) * got.frames)
    assert set(got.seeds) == {3}
    assert (got.frames[0], got.frames[-1]) == (0, 1000)


def test_a_seed_counts_only_between_its_own_first_and_last_value(tmp_path):
    frames = [0, 100, 200, 300, 400]
    write_trial(tmp_path, seed=1, frames=frames, return_mean=[None, None, 1.0, 1.0, 1.0])
    write_trial(tmp_path, seed=2, frames=frames[:4], return_mean=[3.0, 3.0, 3.0, 3.0])

    got = mean_over_seeds(read_runs([tmp_path]).runs, "return_mean")

    early, both, late = (
        got.frames < 200,
        (got.frames >= 200) & (got.frames <= 300),
        got.frames > 300,
    )
    assert [set(got.seeds[part]) for part in (early, both, late)] == [{1}, {2}, {1}]
    assert [set(got.mean[part]) for part in (early, both, late)] == [{3.0}, {2.0}, {1.0}]
    assert np.isnan(got.std[early | late]).all()
    np.testing.assert_allclose(got.std[both], np.std([1, 3], ddof=1))


def test_a_seed_that_has_ended_solved_keeps_its_return_and_nothing_else(tmp_path):
    ended = {"stop_at_return": 3.0, "ended": {}}
    one = {"return_mean": [3.0, 3.0], "intrinsic_reward_mean": [5.0, 5.0]}
    write_trial(tmp_path, seed=1, record=ended, frames=[0, 100], **one)
    write_trial(tmp_path, seed=2, record=ended, frames=[0, 300], return_mean=[1.0, 1.0])
    runs = read_runs([tmp_path]).runs

    got = mean_over_seeds(runs, "return_mean")

    assert (set(got.seeds), set(got.mean)) == ({2}, {2.0})
    bonus = mean_over_seeds(runs, "intrinsic_reward_mean")
    assert set(bonus.seeds[bonus.frames > 100]) == {1}


def test_returns_start_once_a_full_window_of_episodes_has_ended(tmp_path):
    """The first episodes to end are short, and so the successful ones."""
    few = {"episodes": [1, 100, 300], "intrinsic_reward_mean": [5.0, 5.0, 5.0]}
    write_trial(tmp_path, seed=1, frames=[0, 100, 200], return_mean=[1.0, 0.0, 0.0], **few)
    runs = read_runs([tmp_path]).runs

    returns, bonus = (mean_over_seeds(runs, c) for c in ("return_mean", "intrinsic_reward_mean"))

    assert (returns.frames[0], set(returns.mean)) == (100, {0.0})
    assert bonus.frames[0] == 0


def test_a_run_of_fewer_episodes_than_the_window_shows_what_it_has(tmp_path):
    write_trial(tmp_path, frames=[0, 100], return_mean=[1.0, 0.5], episodes=[1, 99])

    got = mean_over_seeds(read_runs([tmp_path]).runs, "return_mean")

    assert (got.mean[0], got.mean[-1]) == (1.0, 0.5)


def test_where_no_seed_has_a_value_there_is_no_mean(tmp_path):
    write_trial(tmp_path, seed=1, frames=[0, 10], return_mean=[1.0, 1.0])
    write_trial(tmp_path, seed=2, frames=[90, 100], return_mean=[2.0, 2.0])

    got = mean_over_seeds(read_runs([tmp_path]).runs, "return_mean")

    gap = (got.frames > 10) & (got.frames < 90)
    assert np.isnan(got.mean[gap]).all() and (got.seeds[gap] == 0).all()
    assert np.isfinite(got.mean[~gap]).all()


def test_one_value_is_one_point_and_none_is_none(tmp_path):
    write_trial(tmp_path, frames=[7], return_mean=[0.5], intrinsic_reward_mean=[None])
    runs = read_runs([tmp_path]).runs

    point = mean_over_seeds(runs, "return_mean")

    assert (point.frames.tolist(), point.mean.tolist()) == ([7], [0.5])
    assert mean_over_seeds(runs, "intrinsic_reward_mean") is None


def test_seeds_that_end_a_batch_apart_are_drawn_to_the_least_of_their_ends(tmp_path):
    for seed, end in enumerate((1000, 1010, 990, 500)):
        write_trial(tmp_path, seed=seed, frames=[0, end], return_mean=[0.0, end])

    got = mean_over_seeds(read_runs([tmp_path]).runs, "return_mean")

    assert (got.frames[0], got.frames[-1]) == (0, 990)
    assert set(got.seeds[got.frames > 500]) == {3} and set(got.seeds[got.frames <= 500]) == {4}
