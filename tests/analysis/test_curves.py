import numpy as np
import pytest
from matplotlib.colors import to_hex

from helpers.run_folders import write_trial
from rllib_ride.analysis.curves import curve_table, draw_curves
from rllib_ride.analysis.palette import line_styles
from rllib_ride.analysis.runs import read_runs


def drawn(panel):
    """The strong lines of a panel: {label: (frames, values, colour)}."""
    return {
        line.get_label(): (*line.get_data(), to_hex(line.get_color()))
        for line in panel.get_lines()
        if not line.get_label().startswith("_")
    }


def panels(figure):
    return [axes for axes in figure.axes if axes.get_visible()]


def test_draws_return_above_and_intrinsic_reward_below(tmp_path):
    frames = np.linspace(0, 1e6, 7)
    for method, slope in {"ride": 2e-6, "none": 0.0}.items():
        for seed, factor in ((1, 1.0), (2, 3.0)):
            write_trial(
                tmp_path,
                method=method,
                seed=seed,
                frames=frames,
                return_mean=factor * slope * frames,
                intrinsic_reward_mean=[None] * 7 if method == "none" else [0.5 * factor] * 7,
            )

    figure = draw_curves(read_runs([tmp_path]).runs)
    above, below = panels(figure)

    frames_drawn, returns, color = drawn(above)["ride"]
    np.testing.assert_allclose(returns, 2.0 * 2e-6 * frames_drawn)
    assert color.upper() == line_styles(["ride"])["ride"].color
    assert set(drawn(above)["none"][1]) == {0.0}
    assert set(drawn(below)) == {"ride"}
    assert set(drawn(below)["ride"][1]) == {1.0}
    assert "return" in above.get_ylabel() and "intrinsic" in below.get_ylabel()
    assert below.get_xlabel() == "frames"
    (band,) = [b for b in below.collections]
    extents = band.get_paths()[0].get_extents()
    half = np.std([0.5, 1.5], ddof=1)
    np.testing.assert_allclose([extents.y0, extents.y1], [1 - half, 1 + half])


def test_the_line_is_strong_only_where_every_seed_has_a_value(tmp_path):
    write_trial(tmp_path, seed=1, frames=[0, 50, 100], return_mean=[0.5, 0.5, 0.5])
    write_trial(tmp_path, seed=2, frames=[0, 50], return_mean=[0.5, 0.5])

    above = panels(draw_curves(read_runs([tmp_path]).runs))[0]
    faint, strong = above.get_lines()

    frames, values = strong.get_data()
    np.testing.assert_array_equal(np.isfinite(values), frames <= 50)
    assert np.isfinite(faint.get_ydata()).all() and faint.get_alpha() < 1


def test_each_env_has_its_panels_and_the_legend_names_every_line(tmp_path):
    for env in "ABCDE":
        for method in ("ride", "mine"):
            for seed in range(2 if env == "A" else 1):
                write_trial(
                    tmp_path, env=env, method=method, seed=seed, frames=[1, 2], return_mean=[0, 1]
                )

    figure = draw_curves(read_runs([tmp_path]).runs)

    assert [axes.get_title() for axes in panels(figure) if axes.get_title()] == list("ABCDE")
    assert len(panels(figure)) == 10
    (legend,) = figure.legends
    texts = [text.get_text() for text in legend.get_texts()]
    assert texts == ["ride, 1 to 2 seeds", "mine, 1 to 2 seeds"]


@pytest.mark.parametrize(
    ("lines", "tasks", "method"),
    [(1, 1, "ride"), (5, 1, "no_entropy_" * 8), (40, 1, "ride"), (5, 8, "ride")],
)
def test_a_legend_has_every_line_and_covers_no_panel(tmp_path, lines, tasks, method):
    for task in range(tasks):
        for i in range(lines):
            config = {"lr": i}
            write_trial(
                tmp_path, env=f"E{task}", method=method, config=config, frames=[1, 2],
                return_mean=[0, i],
            )  # fmt: skip

    figure = draw_curves(read_runs([tmp_path]).runs, ["return_mean"])
    figure.draw_without_rendering()

    (legend,) = figure.legends
    assert len(legend.get_texts()) == lines
    box = legend.get_window_extent()
    assert not any(box.overlaps(axes.get_window_extent()) for axes in panels(figure))
    assert box.y0 >= 0 and box.x0 >= 0 and box.x1 <= figure.bbox.x1


def test_a_single_report_is_a_visible_point(tmp_path):
    write_trial(tmp_path, frames=[10], return_mean=[0.3])

    above = panels(draw_curves(read_runs([tmp_path]).runs))[0]

    assert {line.get_marker() for line in above.get_lines()} == {"o"}


def test_bonuses_of_different_scale_share_a_logarithmic_axis(tmp_path):
    for method, bonus in {"ride": 0.01, "count": 0.05, "none": 0.0}.items():
        write_trial(
            tmp_path / "near", method=method, frames=[1, 2], intrinsic_reward_mean=[bonus] * 2
        )
        write_trial(
            tmp_path / "far", method=method, frames=[1, 2], intrinsic_reward_mean=[bonus**2] * 2
        )

    near = panels(draw_curves(read_runs([tmp_path / "near"]).runs))[1]
    far = panels(draw_curves(read_runs([tmp_path / "far"]).runs))[1]

    assert (near.get_yscale(), far.get_yscale()) == ("linear", "log")


def test_no_label_runs_over_the_figures_edge(tmp_path):
    for env in ("MiniGrid-Dynamic-Obstacles-Random-16x16-v0", "MiniGrid-ObstructedMaze-2Dlh-v0"):
        record = {"env_options": {"singleton_seed": 1}}
        write_trial(tmp_path, env=env, record=record, frames=[1, 1e8], return_mean=[0, 1])

    figure = draw_curves(read_runs([tmp_path]).runs)
    figure.draw_without_rendering()

    for panel in panels(figure):
        box = panel.get_tightbbox()
        assert box.x0 >= 0 and box.y0 >= 0
        assert box.x1 <= figure.bbox.x1 and box.y1 <= figure.bbox.y1
    titles = [axes.title.get_window_extent() for axes in panels(figure) if axes.get_title()]
    assert not titles[0].overlaps(titles[1])


@pytest.mark.parametrize(
    ("returns", "limits"),
    [([0, 0.1], (-0.03, 1.03)), ([-1, 0.4], (-1.03, 1.03)), ([0, 300], None)],
)
def test_returns_of_at_most_one_share_a_scale(tmp_path, returns, limits):
    write_trial(tmp_path, frames=[1, 2], return_mean=returns)

    (panel,) = panels(draw_curves(read_runs([tmp_path]).runs, ["return_mean"]))

    low, high = panel.get_ylim()
    assert (low, high) == limits if limits else high > 300


def test_figures_drawn_with_one_set_of_styles_agree(tmp_path):
    for lr in range(3):
        write_trial(tmp_path, config={"lr": lr}, frames=[1, 2], return_mean=[0, 1])
    runs = read_runs([tmp_path]).runs
    styles = line_styles(run.label for run in runs)

    (all_of_them,) = panels(draw_curves(runs, ["return_mean"], styles))
    (last,) = panels(draw_curves(runs[2:], ["return_mean"], styles))

    label = runs[2].label
    assert drawn(last)[label][2] == drawn(all_of_them)[label][2]


def test_where_there_is_no_value_yet_the_panel_says_so(tmp_path):
    write_trial(tmp_path)

    (panel,) = panels(draw_curves(read_runs([tmp_path]).runs, ["return_mean"]))

    assert [text.get_text() for text in panel.texts] == ["no value yet"]


def test_the_table_has_the_points_that_are_drawn(tmp_path):
    frames = np.linspace(0, 1e6, 5)
    for seed in (1, 2):
        write_trial(tmp_path, seed=seed, frames=frames, return_mean=seed * frames / 1e7)
    runs = read_runs([tmp_path]).runs

    table = curve_table(runs)

    (panel,) = panels(draw_curves(runs, ["return_mean"]))
    of_return = table[table["value"] == "return_mean"]
    x, y, _ = drawn(panel)["ride"]
    np.testing.assert_array_equal(of_return["frames"], x)
    np.testing.assert_array_equal(of_return["mean"], y)
    assert set(of_return["seeds"]) == {2} and set(of_return["seeds_run"]) == {2}
