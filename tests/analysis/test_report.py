import json
import re
import shutil
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from matplotlib.image import imread

from helpers.html_page import Page, svg_root
from helpers.run_folders import write_trial
from rllib_ride.analysis.curves import BONUS, RETURN
from rllib_ride.analysis.provenance import made_by
from rllib_ride.analysis.report import drawn_runs, states, write_report
from rllib_ride.analysis.runs import read_runs
from rllib_ride.analysis.tasks import MINIGRID_FIGURE

N7S4, NOISY_TV = MINIGRID_FIGURE[:2]


def write_runs(folder):
    """Two tasks, a baseline, an ablation on one of them, and a failed, a short and a silent run."""
    frames = np.linspace(0, 1000, 6)
    for env in (N7S4, NOISY_TV):
        for method in ("none", "ride", *(["no_episodic_counts"] if env == N7S4 else [])):
            for seed in (1, 2):
                write_trial(
                    folder,
                    env=env,
                    method=method,
                    seed=seed,
                    record={"experiment": "maze", "frames": 1000, "versions": {"ray": "2.60.0"}},
                    frames=frames,
                    return_mean=frames / 1000 * (0.4 + 0.5 * (method == "ride")),
                    intrinsic_reward_mean=[None] * 6 if method == "none" else [0.1 * seed] * 6,
                )
    record = {"experiment": "maze", "frames": 1000}
    failed = write_trial(folder, env=N7S4, seed=3, record=record, frames=[0, 400])
    (failed / "error.txt").write_text("ValueError: no")
    write_trial(folder, env=N7S4, seed=4, record=record, frames=[0, 500])
    write_trial(folder, env=N7S4, seed=5, record=record)
    broken = write_trial(folder, seed=9, frames=[1])
    (broken / "run.json").write_text("{")


@pytest.fixture(scope="module")
def readings(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    write_runs(folder)
    return read_runs([folder])


@pytest.fixture(scope="module")
def out(readings, tmp_path_factory):
    """A report on these runs, with a custom threshold."""
    out = tmp_path_factory.mktemp("report") / "out"
    write_report(readings, out, command="rllib-ride report runs", threshold=0.35)
    return out


@pytest.fixture(scope="module")
def page(out):
    return Page((out / "index.html").read_text())


def test_writes_page_figures_and_tables(out):
    pytest.importorskip("rliable")
    figures = {"curves", "intrinsic", "ablations", "scores"}
    tables = {"curves", "results", "runs", "means", "improvements"}
    assert {file.name for file in out.iterdir()} == {
        "index.html",
        "tables.md",
        *(f"{name}.{kind}" for name in figures for kind in ("png", "svg")),
        *(f"{name}.csv" for name in tables),
    }
    for name in figures:
        assert imread(out / f"{name}.png")[..., :3].std() > 0
        svg_root((out / f"{name}.svg").read_bytes())
    for name in tables:
        assert len(pd.read_csv(out / f"{name}.csv")) > 0


def test_each_figure_has_the_runs_it_is_about(readings):
    drawn = drawn_runs(readings.runs)

    content = {
        name: (value, {(run.task, run.method) for run in runs})
        for name, (runs, value) in drawn.items()
    }
    paid = {(N7S4, "ride"), (NOISY_TV, "ride"), (N7S4, "no_episodic_counts")}
    assert content == {
        "curves": (RETURN, {(env, m) for env in (N7S4, NOISY_TV) for m in ("ride", "none")}),
        "intrinsic": (BONUS, paid),
        "ablations": (RETURN, {(N7S4, "ride"), (N7S4, "no_episodic_counts")}),
    }


def test_ablations_alone_are_the_learning_curves(tmp_path):
    write_trial(tmp_path, method="only_episodic_counts", frames=[1], return_mean=[0])

    assert {"curves", "intrinsic"} == set(drawn_runs(read_runs([tmp_path]).runs))


def test_the_page_is_one_file_with_a_panel_a_task(page):
    pytest.importorskip("rliable")
    texts = [text for text, _ in page.pictures]
    assert sum(text.startswith("return_mean") for text in texts) == 2 + 1
    assert sum(text.startswith("intrinsic_reward_mean") for text in texts) == 2
    assert len(texts) == 5 + 2
    for _, file in page.pictures:
        svg_root(file)
    assert all(source.startswith("data:") for source in page.loaded)
    assert "script" not in page.tags


def test_under_each_figure_stand_its_command_and_versions(page):
    figures = page.tags.count("figure")
    assert figures >= 3
    assert page.text.count("rllib-ride report runs") == figures
    assert page.text.count("10 runs trained by commit unknown with ray 2.60.0") == figures
    assert page.text.count("3 runs trained by commit unknown with unknown versions") == figures
    assert len(re.findall(r"numpy \d", page.text)) == figures


def test_says_how_far_each_run_has_come(readings, page, out):
    markdown = (out / "tables.md").read_text()

    told = "13 runs: 10 done, 1 failed, 1 stopped early, 1 no report yet."
    assert told in page.text and told in markdown
    assert f"| maze | {N7S4} | ride | 3 | failed | 400 of 1,000 | 0.000 |" in markdown
    assert f"| maze | {N7S4} | ride | 5 | no report yet | 0 of 1,000 | - |" in markdown
    assert states(readings.runs) == told


def test_curves_csv_holds_the_points_of_the_figure(out):
    curves = pd.read_csv(out / "curves.csv")

    tv = curves[(curves["env"] == NOISY_TV) & (curves["method"] == "ride")]
    returns, bonus = tv[tv["value"] == RETURN], tv[tv["value"] == BONUS]
    np.testing.assert_allclose(returns["mean"], 0.9 * returns["frames"] / 1000)
    np.testing.assert_allclose(returns["std"], 0, atol=1e-12)
    np.testing.assert_allclose(bonus["mean"], 0.15)
    np.testing.assert_allclose(bonus["std"], np.std([0.1, 0.2], ddof=1))
    cut = curves[(curves["env"] == N7S4) & (curves["method"] == "ride")]
    cut = cut[cut["value"] == RETURN]
    assert set(cut["seeds_run"]) == {5}
    assert set(cut["seeds"][cut["frames"] < 400]) == {4}
    assert set(cut["seeds"][cut["frames"] > 500]) == {2}


def test_what_was_left_out_is_on_the_page(readings, page, out):
    (note,) = readings.notes

    assert "run.json: cannot be read, not JSON" in note
    assert note in page.text and note in (out / "tables.md").read_text()


def test_the_threshold_asked_for_is_in_the_tables(out):
    results = pd.read_csv(out / "results.csv").set_index(["env", "method"])

    assert set(results["threshold"]) == {0.35}
    assert results.loc[(NOISY_TV, "none"), "frames_to_solve"] == 1000
    assert results.loc[(NOISY_TV, "ride"), "frames_to_solve"] == 400


def test_without_rliable_all_but_the_scores_is_there(tmp_path, monkeypatch):
    write_trial(tmp_path, frames=[1, 2], return_mean=[0.1, 0.2])
    monkeypatch.setitem(sys.modules, "rliable", None)
    monkeypatch.setitem(sys.modules, "rliable.library", None)
    write_trial(tmp_path, seed=2, frames=[1, 2], return_mean=[0.1, 0.2])

    files, notes = write_report(read_runs([tmp_path]), tmp_path / "out", command="rllib-ride")

    assert files[0].name == "index.html"
    (note,) = notes
    assert "pip install 'rllib-ride[report]'" in note
    assert note in Page(files[0].read_text()).text
    names = {file.name for file in files}
    assert "curves.png" in names and "scores.png" not in names and "means.csv" not in names


def test_before_any_report_nothing_is_written(tmp_path):
    write_trial(tmp_path / "runs")

    with pytest.raises(ValueError, match="no run has anything to report yet"):
        write_report(read_runs([tmp_path / "runs"]), tmp_path / "out", command="")
    assert not (tmp_path / "out").exists()


def test_of_rows_without_return_and_bonus_nothing_is_written(tmp_path):
    """`none` before its first episode ends; with a bonus as well there is a report."""
    none = write_trial(
        tmp_path / "none", method="none", frames=[1], return_mean=[None],
        intrinsic_reward_mean=[None],
    )  # fmt: skip
    with pytest.raises(ValueError, match="no run has anything to report yet"):
        write_report(read_runs([none]), tmp_path / "out", command="")
    assert not (tmp_path / "out").exists()

    ride = write_trial(tmp_path / "ride", frames=[1], return_mean=[None])
    files, _ = write_report(read_runs([none, ride]), tmp_path / "out", command="")

    assert set(pd.read_csv(tmp_path / "out" / "curves.csv")["value"]) == {BONUS}


def test_a_run_that_went_on_with_other_code_is_trained_by_both(tmp_path):
    resumed = [{"git_commit": "b", "versions": {"ray": "2"}, "changed": {}}]
    write_trial(tmp_path, frames=[1], record={"git_commit": "a", "resumed": resumed})

    _, _, line = made_by("", read_runs([tmp_path]).runs)

    assert line == ("1 run trained by commit a with unknown versions, then by commit b with ray 2.")


@pytest.mark.slow
def test_a_browser_shows_all_pictures_without_an_error(page, out, tmp_path):
    """Chromium, as a phone shows it: every picture has a size, no text runs over the edge."""
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        pytest.skip("there is no Chromium to open the page with")
    # The page itself must have no script; this one measures its layout from inside.
    probe = (
        "<script>addEventListener('load', () => { document.title = JSON.stringify({"
        "sizes: [...document.images].map(i => i.naturalWidth), "
        "wide: document.documentElement.scrollWidth, room: innerWidth}) })</script>"
    )
    probed = tmp_path / "probed.html"
    html = (out / "index.html").read_text()
    probed.write_text(html.replace("</body>", f"{probe}</body>"))
    done = subprocess.run(
        [browser, "--headless", "--no-sandbox", "--disable-gpu", "--window-size=500,900"]
        + ["--enable-logging=stderr", "--v=0", "--virtual-time-budget=5000", "--dump-dom"]
        + [f"--user-data-dir={tmp_path / 'profile'}", probed.as_uri()],
        capture_output=True,
        text=True,
        timeout=120,
    )

    title = re.search(r"<title>(.*?)</title>", done.stdout)[1]
    seen = json.loads(title)
    assert len(seen["sizes"]) == len(page.pictures) and min(seen["sizes"]) > 0
    assert seen["wide"] <= seen["room"]
    assert "CONSOLE" not in done.stderr
