import sys
import xml.etree.ElementTree

import pandas as pd
from matplotlib.image import imread

from helpers.run_folders import write_trial
from rllib_ride.analysis.finish import write_summary


def test_writes_picture_and_tables_into_the_run(tmp_path):
    write_trial(tmp_path, method="ride", frames=[100, 200], return_mean=[0.1, 0.7])
    write_trial(tmp_path, method="none", frames=[100, 200], return_mean=[None, 0.0])

    png, svg, markdown, csv = write_summary(tmp_path)

    assert {path.name for path in (png, svg, markdown, csv)} == {
        "curves.png",
        "curves.svg",
        "table.md",
        "table.csv",
    }
    assert imread(png)[..., :3].std() > 0
    assert xml.etree.ElementTree.parse(svg).getroot().tag.endswith("svg")
    assert pd.read_csv(csv)["method"].tolist() == ["ride", "none"]
    assert markdown.read_text().count("\n") == 4


def test_writes_nothing_before_the_first_report(tmp_path):
    write_trial(tmp_path)

    assert write_summary(tmp_path) == []
    assert not (tmp_path / "curves.png").exists()


def test_leaves_matplotlibs_global_state_alone(tmp_path):
    write_trial(tmp_path, frames=[1, 2], return_mean=[0, 1])

    write_summary(tmp_path)

    pyplot = sys.modules.get("matplotlib.pyplot")
    assert pyplot is None or not pyplot.get_fignums()
