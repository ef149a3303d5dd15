"""`run.json` of a resumed trial: it records that the code has changed."""

import dataclasses
import json
from types import SimpleNamespace

import pytest

from helpers.trials import TRIAL
from rllib_ride.experiments import record
from rllib_ride.experiments.build import algorithm_config
from rllib_ride.experiments.trial import Trial
from rllib_ride.rllib import presets

HARDER = dataclasses.replace(TRIAL, env="MiniGrid-MultiRoom-N7-S8-v0", name="ride_N7-S8_seed1")
RATE = "learner_config_dict.intrinsic.lr"


@pytest.fixture
def start(tmp_path):
    """Starts the trial as Tune would, and reads its run.json."""

    def on_trial_start(trial=HARDER):
        tune_trial = SimpleNamespace(path=str(tmp_path), config={"trial": trial.to_dict()})
        record.RecordCallback().on_trial_start(0, [], tune_trial)
        return json.loads((tmp_path / "run.json").read_text())

    return on_trial_start


@pytest.fixture
def now(monkeypatch):
    """Changes the code: its commit, and the learning rate of `tuned` on the harder tasks."""

    def change(commit, lr):
        tuned = dataclasses.replace(presets._PRESETS["tuned"], harder_intrinsic_lr=lr)
        monkeypatch.setitem(presets._PRESETS, "tuned", tuned)
        monkeypatch.setattr(record, "_git_commit", lambda: commit)

    return change


def test_a_trial_that_goes_on_with_the_same_code_keeps_its_record(start, capsys):
    first = start()
    assert start() == first
    assert "resumed" not in first
    assert start(dataclasses.replace(HARDER, frames=HARDER.frames + 1)) == {
        **first,
        "frames": HARDER.frames + 1,
    }
    assert capsys.readouterr().err == ""


def test_another_code_is_told_with_what_it_changes(start, now, capsys):
    now("a", 1e-4)
    first = start()
    now("b", 2.5e-5)
    second = start()

    assert second.pop("resumed") == [
        {"git_commit": "b", "versions": first["versions"], "changed": {RATE: [1e-4, 2.5e-5]}}
    ]
    assert second == first, "what it began with stays"
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("ride_N7-S8_seed1 goes on with the settings that the code has now")
    assert f"{RATE} is 2.5e-05, not 0.0001 " in line and "run.json" in line
    assert "differ from those it had: " in line


def test_each_change_is_told_once(start, now, capsys):
    for commit, lr in [
        ("a", 1e-4),
        ("b", 1e-4),
        ("b", 1e-4),
        ("c", 2e-4),
        ("c", 2e-4),
        ("a", 1e-4),
    ]:
        now(commit, lr)
        last = start()

    told = [(entry["git_commit"], entry["changed"]) for entry in last["resumed"]]
    assert told == [("b", {}), ("c", {RATE: [1e-4, 2e-4]}), ("a", {RATE: [2e-4, 1e-4]})]
    assert len(capsys.readouterr().err.splitlines()) == 2


def test_a_record_that_others_have_written_to_keeps_no_trial_from_going_on(start, tmp_path, now):
    now("a", 1e-4)
    first = start()
    now("b", 2.5e-5)
    lists = (None, 3, {"a": 1}, [3, {}, {"changed": 3}], [{"changed": {"lr": 3}}])
    for spoiled in ({"git_commit": None}, *({"resumed": entries} for entries in lists)):
        (tmp_path / "run.json").write_text(json.dumps({**first, **spoiled}))
        (entry,) = start()["resumed"]
        assert entry["git_commit"] == "b" and entry["changed"] == {RATE: [1e-4, 2.5e-5]}
    for key in ("config", "versions", "git_commit", "frames"):
        (tmp_path / "run.json").write_text(json.dumps({k: first[k] for k in first if k != key}))
        assert start()["resumed"][0]["git_commit"] == "b"
    for text in ("[]", '"x"', "3"):
        (tmp_path / "run.json").write_text(text)
        assert start()["git_commit"] == "b"


def test_a_setting_that_is_no_number_is_what_it_was():
    before = {"git_commit": "a", "versions": {}, "config": {"x": float("nan")}}
    assert record.resumed(before, {**before, "config": {"x": float("nan")}}) is None


def test_other_versions_are_told(start, now, monkeypatch):
    now("a", 1e-4)
    start()
    monkeypatch.setattr(record, "_versions", lambda: {"ray": "9.9"})
    (entry,) = start()["resumed"]
    assert entry["versions"]["ray"] == "9.9" and entry["changed"] == {}


def test_a_setting_that_is_new_or_gone_is_told_with_none():
    def of(**config):
        return {"git_commit": "a", "versions": {}, "config": config}

    went_on = record.resumed(of(gone=1, same=[1, {"x": 2}]), of(new=3, same=[1, {"x": 2}], none={}))
    assert went_on is not None
    assert went_on["changed"] == {"gone": [1, None], "new": [None, 3], "none": [None, {}]}


def test_a_record_has_the_trials_own_settings_beside_all_of_rllibs(start):
    ours = dataclasses.replace(HARDER, config={"num_envs_per_env_runner": 2})
    written = start(ours)

    fields = [field.name for field in dataclasses.fields(ours) if field.name != "config"]
    again = Trial(**{name: written[name] for name in fields}, config=written["overrides"])
    assert again == ours
    assert written["config"]["num_envs_per_env_runner"] == 2 and "lr" in written["config"]


@pytest.mark.parametrize(
    ("method", "told"), [("count", "the full grid"), ("icm", "nothing"), ("none", "nothing")]
)
def test_a_record_tells_what_is_counted_only_if_the_method_reads_it(start, method, told):
    assert start(dataclasses.replace(HARDER, method=method))["counts_see"].startswith(told)


def test_no_part_of_a_record_takes_the_place_of_another(monkeypatch):
    monkeypatch.setattr(record, "made_with", lambda config: {"seed": 1})
    with pytest.raises(TypeError, match="multiple values for keyword argument 'seed'"):
        record.record(HARDER, algorithm_config(HARDER))
