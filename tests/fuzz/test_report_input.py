"""Whatever the folders of runs contain, usable trials are reported and notes name the others."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from helpers.run_folders import curve_text, write_trial
from helpers.trials import TRIAL
from helpers.typed import is_one_message, typed, typed_apart
from rllib_ride.analysis.curve_file import COLUMNS, read_curve
from rllib_ride.analysis.report import write_report
from rllib_ride.analysis.runs import Readings, read_runs
from rllib_ride.experiments.errors import ConfigError
from rllib_ride.experiments.resume import resumed_trials, write_trials

FACTS = {
    "method": "ride",
    "env": "Env-v0",
    "seed": 1,
    "config": {"lr": 1e-4, "model": {"dim": 3}},
    "frames": 300,
    "env_options": {"size": 5},
    "experiment": "maze",
    "git_commit": "abc",
    "versions": {"ray": "2.60.0"},
    "preset": "tuned",
}
CURVE = curve_text(frames=[100, 200, 300], return_mean=[None, 0.25, 0.5], fps=[9, 9, 9])
drawn = settings(max_examples=max(3, settings().max_examples // 20))  # a second each, for figures

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(
        ["$x$", "$\\frac$", "a\nb", "\0", "\ud800", "x" * 5000, "_x", "💥", "%s", "<b>"]
    )
    | st.sampled_from([10**30, 10**400, -1, 1e308, "nan"]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=6,
)
cells = (
    st.integers(-10, 1000).map(str)
    | st.floats().map(str)
    | st.text(max_size=4)
    | st.sampled_from(
        ["", "nan", "1e999", "9" * 400, '"', "'", "\r", "\0", "1_000", "0x10", "True"]
    )
)
headers = st.lists(st.sampled_from([*COLUMNS, "env_frames", "", '"', "x"]), min_size=1, max_size=12)
csvs = st.builds(
    lambda header, rows: "\n".join(",".join(row) for row in [header, *rows]) + "\n",
    st.just(list(COLUMNS)) | headers,
    st.lists(st.lists(cells, max_size=10), max_size=8),
)


@contextmanager
def folder_of(record: bytes | None, curve: bytes | None) -> Iterator[Path]:
    """A storage with a whole trial, and with another trial that has these files."""
    with tempfile.TemporaryDirectory() as name:
        storage = Path(name)
        write_trial(storage, seed=77, frames=[100, 200], return_mean=[0.1, 0.2], fps=[5, 6])
        other = storage / "other"
        other.mkdir()
        for file, content in (("run.json", record), ("curve.csv", curve)):
            if content is not None:
                (other / file).write_bytes(content)
        yield storage


def as_bytes(text: str) -> bytes:
    return text.encode("utf-8", errors="surrogatepass")


def assert_sane(readings: Readings) -> None:
    """Checks that the whole trial is read, the other is read or noted, and all values are sane."""
    whole = [run for run in readings.runs if run.seed == 77 and run.method == "ride"]
    assert any(run.curve["return_mean"].tolist() == [0.1, 0.2] for run in whole)
    assert len(readings.runs) == 2 or readings.notes
    for note in readings.notes:
        assert is_one_message(note), note
    for run in readings.runs:
        frames = run.curve["frames"].to_numpy()
        assert np.isfinite(frames).all() and (np.diff(frames) > 0).all() and (frames >= 0).all()
        assert all(kind.kind == "f" for kind in run.curve.dtypes)
        assert len(run.label) < 200 and len(run.task) < 1000 and run.task.isprintable()


@given(st.binary(max_size=200) | csvs.map(as_bytes))
@example(b"")
@example(b"\xff\xfe")
@example(as_bytes(CURVE).replace(b"\n", b"\r\n"))
@example(b"frames\n" + b"1," * 100_000 + b"\n2\n")
@example(b"frames," * 100_000 + b"\n1\n")
@example(b'frames\n1\n"2\n3\n')
def test_any_curve(content: bytes) -> None:
    with folder_of(json.dumps(FACTS).encode(), content) as storage:
        assert_sane(read_runs([storage]))


@given(st.integers(0, len(CURVE)), st.binary(max_size=3))
def test_a_curve_that_is_cut_anywhere_keeps_its_whole_rows(at: int, more: bytes) -> None:
    content = as_bytes(CURVE)[:at] + more
    with folder_of(json.dumps(FACTS).encode(), content) as storage:
        assert_sane(read_runs([storage]))
        if not more:
            curve, faults = read_curve(storage / "other" / "curve.csv")
            rows = CURVE[:at].count("\n") - 1
            assert curve["frames"].tolist() == [100, 200, 300][: max(rows, 0)]
            assert bool(faults) == (at > 0 and CURVE[at - 1] != "\n")


@given(st.dictionaries(st.sampled_from([*FACTS, "ended", "x"]), json_values, max_size=3))
def test_any_record(changes: dict[str, Any]) -> None:
    with folder_of(as_bytes(json.dumps({**FACTS, **changes})), as_bytes(CURVE)) as storage:
        assert_sane(read_runs([storage]))


@given(st.binary(max_size=100) | st.integers(0, 400).map(lambda n: json.dumps(FACTS)[:n].encode()))
@example(b"[" * 100_000)
@example(b'{"a":' * 100_000)
@example(b'{"config": ' + b"[" * 400 + b"]" * 400 + b"}")
@example(b"1" * 5000)
@example(b"null")
def test_no_record(content: bytes) -> None:
    with folder_of(content, as_bytes(CURVE)) as storage:
        readings = read_runs([storage])
        assert_sane(readings)
        assert len(readings.runs) == 1 or content == json.dumps(FACTS).encode()


@drawn
@given(
    st.dictionaries(st.sampled_from(list(FACTS)), json_values, max_size=2),
    st.just(CURVE) | csvs,
)
@example({"env": "$\\frac$"}, CURVE)
@example({"method": "$x^$"}, CURVE)
@example({"config": {"lr": "$\\x$"}}, CURVE)
@example({"method": "_x"}, curve_text(frames=[1e14, 1e15], return_mean=[-3e38, 3e38]))
@example({}, curve_text(frames=[1, 2], return_mean=[0, 0], intrinsic_reward_mean=[1e-300, 3e38]))
def test_any_report(changes: dict[str, Any], curve: str) -> None:
    """The report is drawn and written completely, as by the verb."""
    with folder_of(as_bytes(json.dumps({**FACTS, **changes})), as_bytes(curve)) as storage:
        out = storage / "out"
        files, _ = write_report(read_runs([storage]), out, command="x")
        assert all(file.stat().st_size for file in files)


@given(st.lists(json_values, max_size=2) | json_values)
def test_any_list_of_trials(content: Any) -> None:
    with folder_of(json.dumps(FACTS).encode(), as_bytes(CURVE)) as storage:
        (storage / "trials.json").write_bytes(as_bytes(json.dumps(content)))
        assert_sane(read_runs([storage]))
        (storage / "trials.json").write_bytes(as_bytes(json.dumps([{"name": content}])))
        assert_sane(read_runs([storage]))


@given(st.binary(max_size=80) | json_values.map(lambda value: as_bytes(json.dumps(value))))
@example(b'{"iterations_since_restore": Infinity, "training_iteration": 1}')
@example(b"[" * 100_000)
def test_any_last_result(content: bytes) -> None:
    with folder_of(json.dumps(FACTS).encode(), as_bytes(CURVE)) as storage:
        (storage / "other" / "result.json").write_bytes(content + b"\n")
        assert_sane(read_runs([storage]))


# --- folders that are no such thing


def pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def link(target: str) -> Callable[[Path], None]:
    def make(path: Path) -> None:
        path.unlink()
        path.symlink_to(target)

    return make


@pytest.mark.parametrize("file", ["run.json", "curve.csv", "trials.json", "result.json"])
@pytest.mark.parametrize(
    "make",
    [pipe, folder, link("/dev/zero"), link("/dev/null"), link("curve.csv"), link("run.json")],
)
def test_a_file_that_is_none(file: str, make: Callable[[Path], None]) -> None:
    with folder_of(json.dumps(FACTS).encode(), as_bytes(CURVE)) as storage:
        path = (storage if file == "trials.json" else storage / "other") / file
        path.touch()
        make(path)
        readings = read_runs([storage])
    seeds = [run.seed for run in readings.runs]
    assert 77 in seeds and all(is_one_message(note) for note in readings.notes)
    if file in ("run.json", "curve.csv"):
        assert any(note.startswith(f"{path}: ") for note in readings.notes) or seeds == [77]


def test_folders_that_lead_round_and_down(tmp_path: Path) -> None:
    write_trial(tmp_path / "runs", frames=[1], return_mean=[0])
    (tmp_path / "runs" / "round").symlink_to(tmp_path / "runs")
    deep = tmp_path / "runs" / "/".join(["d"] * 200)
    deep.mkdir(parents=True)
    write_trial(deep, seed=9, frames=[1], return_mean=[0])

    readings = read_runs(
        [tmp_path, tmp_path / "runs", tmp_path / "runs" / "round", Path("x" * 5000)]
    )

    assert [run.seed for run in readings.runs] == [1]
    (note,) = readings.notes
    assert note.startswith("xxx")


def test_a_folder_whose_name_is_no_text(tmp_path: Path) -> None:
    odd = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff\n"))
    write_trial(odd, frames=[1, 2], return_mean=[0, 0.5])
    answer = typed("report", tmp_path, "--out", tmp_path / "out")
    assert answer.code == 0
    assert "\\udcff" in (tmp_path / "out" / "runs.csv").read_text()


@pytest.mark.slow
def test_large_files_are_read_or_noted_within_a_gibibyte(tmp_path: Path) -> None:
    """A curve of half a million rows is read; a file larger than any trial writes is not."""
    header, row = CURVE.splitlines()[0], ",0,0,0.5,0,0,0,0\n"
    large = write_trial(tmp_path / "runs", seed=1) / "curve.csv"
    large.write_text(f"{header}\n" + "".join(f"{n}0000000{row}" for n in range(500_000)))
    commas = write_trial(tmp_path / "runs", seed=2) / "curve.csv"
    commas.write_text("frames\n" + "," * 50_000_000)
    columns = write_trial(tmp_path / "runs", seed=3) / "curve.csv"
    columns.write_text("a," * 25_000_000 + "\n1\n")
    with (write_trial(tmp_path / "runs", seed=4) / "curve.csv").open("wb") as file:
        file.truncate(1 << 30)
    with (write_trial(tmp_path / "runs", seed=5) / "run.json").open("wb") as file:
        file.truncate(1 << 30)

    argv = ["report", tmp_path / "runs", "--out", tmp_path / "out", "--json"]
    (answer,) = typed_apart([argv], tmp_path, gib=4)  # matplotlib and NumPy reserve two

    assert answer.code == 0, answer.err
    told = json.loads(answer.out)
    assert [run["frames"] for run in told["runs"]] == [499_999 * 10**7, 0, 0, 0]
    assert [note.count("larger than") for note in told["notes"]].count(1) == 2


# --- going on with a run


@given(st.binary(max_size=80) | json_values.map(lambda value: as_bytes(json.dumps(value))))
@example(b"[" * 100_000)
@example(b"[]")
def test_any_record_of_a_run_to_resume(content: bytes) -> None:
    with tempfile.TemporaryDirectory() as name:
        (Path(name) / "trials.json").write_bytes(content)
        with pytest.raises(ConfigError) as error:
            resumed_trials([TRIAL], Path(name))
        assert is_one_message(str(error.value)) and "trials.json" in str(error.value)


@given(st.sampled_from(sorted(TRIAL.to_dict())), json_values)
def test_any_entry_of_a_run_to_resume(key: str, value: Any) -> None:
    with tempfile.TemporaryDirectory() as name:
        write_trials([TRIAL], Path(name))
        entry = {**TRIAL.to_dict(), key: value}
        (Path(name) / "trials.json").write_bytes(as_bytes(json.dumps([entry])))
        try:
            (again,) = resumed_trials([TRIAL], Path(name))
        except ConfigError as error:
            assert is_one_message(str(error)) and (key in str(error) or "trials" in str(error))
        else:
            assert again.name == TRIAL.name and again.config == TRIAL.config


# --- what is no checkpoint


@pytest.mark.parametrize("verb", ["evaluate", "analyze"])
@pytest.mark.parametrize(
    "kind", ["missing", "file", "empty", "trial", "half", "loop", "long", "NUL"]
)
def test_no_checkpoint(tmp_path: Path, verb: str, kind: str) -> None:
    path = tmp_path / {"long": "x" * 5000, "NUL": "a\0b"}.get(kind, "checkpoint_000001")
    if kind == "file":
        path.touch()
    elif kind == "loop":
        path.symlink_to(path)
    elif kind == "trial":
        shutil.move(write_trial(tmp_path, frames=[1]), path)
    elif kind in ("empty", "half"):
        path.mkdir()
    if kind == "half":
        module = path / "learner_group" / "learner" / "rl_module" / "default_policy"
        module.mkdir(parents=True)
        for name in ("class_and_ctor_args.pkl", "module_state.pkl", "metadata.json"):
            (module / name).write_bytes(b"\x80\x05not a pickle")

    answer = typed(verb, path, *(["--out", tmp_path / "out"] if verb == "analyze" else []))

    assert answer.code == 2 and answer.out == "" and "Traceback" not in answer.err
    assert is_one_message(answer.err.splitlines()[-1])
    assert not (tmp_path / "out").exists()
