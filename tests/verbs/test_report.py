import json
import sys

import pytest

from helpers.run_folders import write_trial
from rllib_ride.cli import main
from rllib_ride.verbs.exit_codes import BAD_INPUT, DONE


def test_writes_the_report_and_prints_where_it_is(tmp_path, capsys):
    pytest.importorskip("rliable")
    write_trial(tmp_path / "runs", record={"frames": 2}, frames=[1, 2], return_mean=[0, 0.7])

    code = main(["report", str(tmp_path / "runs"), "--out", str(tmp_path / "out")])

    out, err = capsys.readouterr()
    assert (code, err) == (DONE, "")
    for name in ("index.html", "curves.png", "curves.csv", "tables.md"):
        assert (tmp_path / "out" / name).stat().st_size > 0
        assert str(tmp_path / "out" / name) in out
    assert "done" in out and "2 of 2" in out
    command = f"rllib-ride report {tmp_path / 'runs'} --out {tmp_path / 'out'}"
    assert command in (tmp_path / "out" / "tables.md").read_text()


def test_json_is_one_document(tmp_path, capsys):
    write_trial(tmp_path / "runs", record={"frames": 9}, frames=[1, 2], return_mean=[None, None])
    (tmp_path / "empty").mkdir()
    folders = [str(tmp_path / "empty"), str(tmp_path / "runs")]

    code = main(["report", *folders, "--out", str(tmp_path / "out"), "--json"])

    out, err = capsys.readouterr()
    told = json.loads(out)
    assert code == DONE
    assert told["files"][0] == str(tmp_path / "out" / "index.html")
    (run,) = told["runs"]
    assert (run["frames"], run["frames_asked"], run["state"]) == (2, 9, "stopped early")
    assert run["return_mean"] is None and told["wandb"] is None
    assert told["notes"] == err.splitlines() and len(told["notes"]) == 1


def test_what_cannot_be_used_is_told_in_a_line_each_and_the_rest_reported(tmp_path, capsys):
    pytest.importorskip("rliable")
    runs = tmp_path / "runs"
    write_trial(runs, seed=1, frames=[1, 2], return_mean=[0, 0.7])
    cut = write_trial(runs, seed=2, frames=[1, 2], return_mean=[0, 0.7]) / "curve.csv"
    cut.write_text(cut.read_text()[:-5])
    nan = write_trial(runs, seed=3, frames=[1, 2], return_mean=["NaN", 0.5]) / "curve.csv"
    lost = write_trial(runs, seed=4, frames=[1]) / "run.json"
    lost.unlink()
    twin = write_trial(tmp_path / "copy", seed=1, frames=[1], return_mean=[0])
    foreign = tmp_path / "foreign"
    foreign.mkdir()
    (foreign / "notes.txt").write_text("hello")
    folders = [runs, tmp_path / "copy", foreign, tmp_path / "nowhere"]

    code = main(["report", *map(str, folders), "--out", str(tmp_path / "out")])

    lines = capsys.readouterr().err.splitlines()
    assert code == DONE
    wanted = {
        cut: "cut short",
        nan: "no number",
        lost: "missing",
        twin: "the same trial",
        foreign: "holds no trial",
        tmp_path / "nowhere": "is no folder",
    }
    assert len(lines) == len(wanted)
    for path, words in wanted.items():
        assert sum(line.startswith(f"{path}: ") and words in line for line in lines) == 1


@pytest.mark.parametrize("content", [None, "empty", "foreign", "no record", "no report"])
def test_where_nothing_can_be_used_nothing_is_written(tmp_path, capsys, content):
    folder = tmp_path / "runs"
    if content == "empty":
        folder.mkdir()
    elif content == "foreign":
        (folder / "a" / "b").mkdir(parents=True)
        (folder / "a" / "progress.csv").write_text("x\n1\n")
    elif content == "no record":
        (write_trial(folder, frames=[1]) / "run.json").unlink()
    elif content == "no report":
        write_trial(folder)

    code = main(["report", str(folder), "--out", str(tmp_path / "out")])

    out, err = capsys.readouterr()
    assert (code, out) == (BAD_INPUT, "")
    assert str(folder) in err or "no run has anything to report yet" in err
    assert "Traceback" not in err and not (tmp_path / "out").exists()


def test_a_file_in_the_place_of_the_folder_is_refused(tmp_path, capsys):
    write_trial(tmp_path / "runs", frames=[1], return_mean=[0])
    (tmp_path / "out").write_text("mine")

    code = main(["report", str(tmp_path / "runs"), "--out", str(tmp_path / "out")])

    assert code == BAD_INPUT
    error = capsys.readouterr().err
    assert f"{tmp_path / 'out'} is no folder that can be written to" in error
    assert (tmp_path / "out").read_text() == "mine"


def test_wandb_without_its_packages_is_refused_before_anything_is_written(
    tmp_path, capsys, monkeypatch
):
    write_trial(tmp_path / "runs", frames=[1], return_mean=[0])
    monkeypatch.setitem(sys.modules, "wandb", None)

    code = main(["report", str(tmp_path / "runs"), "--out", str(tmp_path / "out"), "--wandb"])

    assert code == BAD_INPUT
    assert "pip install 'rllib-ride[wandb,report]'" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
