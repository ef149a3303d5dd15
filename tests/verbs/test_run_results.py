"""What `run` writes when a run has ended."""

from __future__ import annotations

from pathlib import Path
from typing import NoReturn

import pytest

from helpers.trials import trial
from rllib_ride.analysis import finish, record
from rllib_ride.experiments.runner import TrialOutcome
from rllib_ride.verbs.run import _write_results


def test_an_environment_that_raises_costs_the_picture_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def raises(*args: object, **kwargs: object) -> NoReturn:
        raise RuntimeError("the door\nfell off")

    table = tmp_path / "table.csv"
    monkeypatch.setattr(finish, "write_summary", lambda folder: [table])
    monkeypatch.setattr(record, "record_episode", raises)
    ended = TrialOutcome(trial(), tmp_path, checkpoint=tmp_path / "checkpoint_000000")

    assert _write_results(tmp_path, [ended]) == [table]
    assert capsys.readouterr().err == "no picture of an episode: the door fell off\n"
