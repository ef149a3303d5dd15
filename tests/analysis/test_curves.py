import numpy as np
from matplotlib.colors import to_hex

from helpers.run_folders import write_trial
from rllib_ride.analysis.curves import draw_curves
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


def test_forty_lines_of_one_panel_are_all_in_a_legend_that_covers_no_panel(tmp_path):
    for i in range(40):
        write_trial(tmp_path, config={"lr": i}, frames=[1, 2], return_mean=[0, i])

    figure = draw_curves(read_runs([tmp_path]).runs)
    figure.draw_without_rendering()

    (legend,) = figure.legends
    assert len(legend.get_texts()) == 40
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
