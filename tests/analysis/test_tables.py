import numpy as np
import pandas as pd

from helpers.run_folders import write_trial
from rllib_ride.analysis.runs import read_runs
from rllib_ride.analysis.tables import (
    improvement_rows,
    mean_rows,
    results_rows,
    results_table,
    runs_rows,
    runs_table,
    to_markdown,
)
from rllib_ride.analysis.tasks import MINIGRID_FIGURE
from rllib_ride.envs.registration import KEY_CORRIDOR_ID, OBSTRUCTED_MAZE_ID


def write_two_methods(tmp_path):
    """Seeds of 3, 2 and 1 rows: `ride` reaches 0.6 at 200 and at 90 frames, and never."""
    returns = [None, 0.6, 0.8]
    write_trial(tmp_path, seed=1, frames=[100, 200, 300], return_mean=returns, fps=[10, 20, 30])
    write_trial(tmp_path, seed=2, frames=[90, 200], return_mean=[0.7, 0.5], fps=[40, 40])
    write_trial(tmp_path, seed=3, frames=[100], return_mean=[0.1], fps=[60])
    write_trial(tmp_path, method="none", seed=1, frames=[100], return_mean=[None], fps=[50])
    return read_runs([tmp_path]).runs


def test_row_of_a_method_is_what_its_curves_say(tmp_path):
    ride, none = results_table(write_two_methods(tmp_path), threshold=0.6).to_dict("records")

    assert (ride["env"], ride["method"], ride["seeds"]) == ("Env-v0", "ride", 3)
    assert ride["frames"] == 100
    np.testing.assert_allclose(ride["return_mean"], np.mean([0.8, 0.5, 0.1]))
    np.testing.assert_allclose(ride["return_std"], np.std([0.8, 0.5, 0.1], ddof=1))
    assert (ride["seeds_solved"], ride["frames_to_solve"]) == (2, 145)
    assert (ride["frames_least"], ride["frames_most"]) == (90, 200)
    np.testing.assert_allclose(ride["fps"], np.mean([20, 40, 60]))
    assert (none["method"], none["seeds_solved"], none["fps"]) == ("none", 0, 50)
    assert np.isnan([none["return_mean"], none["frames_to_solve"]]).all()


def test_threshold_is_the_tasks_own_or_the_one_asked_for(tmp_path):
    envs = (*MINIGRID_FIGURE, "Env-v0")
    for env in envs:
        write_trial(tmp_path, env=env, frames=[100, 200], return_mean=[0.55, 0.9])
    runs = read_runs([tmp_path]).runs

    own = results_table(runs).set_index("env")

    at_06 = {env for env in envs if own.loc[env, "threshold"] == 0.6}
    assert at_06 == {MINIGRID_FIGURE[0], MINIGRID_FIGURE[3], KEY_CORRIDOR_ID}
    assert set(own["threshold"]) == {0.5, 0.6}
    assert (own["frames_to_solve"] == np.where(own["threshold"] == 0.6, 200, 100)).all()
    asked = results_table(runs, threshold=0.95)
    assert set(asked["threshold"]) == {0.95} and asked["seeds_solved"].sum() == 0


def test_fewer_than_a_hundred_episodes_solve_nothing(tmp_path):
    write_trial(tmp_path, frames=[1, 2, 3], return_mean=[0.9, 0.9, 0.7], episodes=[1, 99, 100])

    row = results_table(read_runs([tmp_path]).runs, threshold=0.6).iloc[0]

    assert (row["seeds_solved"], row["frames_to_solve"]) == (1, 3)


def test_tasks_stand_in_the_order_of_the_papers_figure(tmp_path):
    for env in ("Another-v0", *reversed(MINIGRID_FIGURE)):
        write_trial(tmp_path, env=env, frames=[1])

    assert results_table(read_runs([tmp_path]).runs)["env"].tolist() == [
        *MINIGRID_FIGURE,
        "Another-v0",
    ]


def test_markdown_shows_rounded_numbers_and_dashes(tmp_path):
    table = results_table(write_two_methods(tmp_path), threshold=0.6)

    header, rule, ride, none = to_markdown(results_rows(table)).splitlines()

    assert "| frames to solve |" in header
    assert rule == "| --- | --- |" + " ---: |" * 7
    assert (
        ride == "| Env-v0 | ride | 3 | 100 | 0.467 ± 0.351 | 0.6 | 2 of 3 | 145 (90 to 200) | 40 |"
    )
    assert none == "| Env-v0 | none | 1 | 100 | - | 0.6 | 0 of 1 | - | 50 |"


def test_the_papers_words_stand_beside_the_numbers(tmp_path):
    write_trial(tmp_path, env=OBSTRUCTED_MAZE_ID, method="none", frames=[1])
    options = {"env_options": {"singleton_seed": 1}}
    write_trial(tmp_path, env=OBSTRUCTED_MAZE_ID, method="none", seed=2, record=options, frames=[1])
    write_trial(tmp_path, method="mine", frames=[1])

    rows = results_rows(results_table(read_runs([tmp_path]).runs), with_paper=True)
    words = {(row["env"], row["method"]): row["the paper says"] for row in rows}

    assert words == {
        (OBSTRUCTED_MAZE_ID, "none"): "does not learn it (fig:minigrid)",
        (f"{OBSTRUCTED_MAZE_ID} (singleton_seed=1)", "none"): (
            "solves it (fig:fixed_seed_obstructed)"
        ),
        ("Env-v0", "mine"): "",
    }


def test_a_trial_without_reports_is_counted_not_hidden(tmp_path):
    write_trial(tmp_path)

    row = results_table(read_runs([tmp_path]).runs).iloc[0]

    assert (row["seeds"], row["frames"], row["seeds_solved"]) == (1, 0, 0)


def test_each_run_says_how_far_it_has_come(tmp_path):
    write_trial(tmp_path, seed=1, record={"frames": 200}, frames=[100, 205], return_mean=[0, 0.5])
    write_trial(tmp_path, seed=2, record={"frames": 200}, frames=[100])
    failed = write_trial(tmp_path, seed=3, record={"frames": 200})
    (failed / "error.txt").write_text("ValueError")
    resumed = '{"iterations_since_restore": 1, "training_iteration": 4}\n'
    (tmp_path / "ride_Env-v0_seed1" / "result.json").write_text(resumed)

    rows = runs_rows(runs_table(read_runs([tmp_path]).runs))

    assert [(row["seed"], row["state"], row["frames"]) for row in rows] == [
        ("1", "done, resumed", "205 of 200"),
        ("2", "stopped early", "100 of 200"),
        ("3", "failed", "0 of 200"),
    ]


def test_a_run_that_went_on_with_other_code_has_all_its_commits(tmp_path):
    resumed = [{"git_commit": commit, "changed": {}} for commit in ("b", "a", None)]
    write_trial(tmp_path, record={"git_commit": "a", "resumed": resumed}, frames=[1])

    (row,) = runs_table(read_runs([tmp_path]).runs).to_dict("records")

    assert (row["git_commit"], row["state"]) == ("a, b", "unknown, resumed")


def test_a_bar_in_a_cell_does_not_end_it():
    assert to_markdown([]) == ""
    assert to_markdown([{"a": "x|y"}]).splitlines()[-1] == "| x\\|y |"


def test_scores_are_shown_with_their_intervals_and_dashes():
    nan = float("nan")
    means = pd.DataFrame(
        [("all tasks", "ride", 2, nan, 3, 0.5, 0.1, 0.52, 0.4, 0.6),
         ("A", "x", 1, 9, 1, 0, nan, 0, nan, nan)],
        columns=["env", "method", "tasks", "frames", "seeds", "mean", "std", "iqm", "low", "high"],
    )  # fmt: skip
    better = pd.DataFrame(
        [("ride", "none", 2, 0.913, 0.8, 1.0)],
        columns=["method", "other", "tasks", "probability", "low", "high"],
    )

    first, second = (list(row.values()) for row in mean_rows(means))
    (shown,) = (list(row.values()) for row in improvement_rows(better))

    assert first == ["all tasks", "ride", "2", "3", "-", "0.500 ± 0.100", "0.520", "0.400 to 0.600"]
    assert second == ["A", "x", "1", "1", "9", "0.000", "0.000", "-"]
    assert shown == ["ride", "none", "2", "0.91", "0.80 to 1.00"]
