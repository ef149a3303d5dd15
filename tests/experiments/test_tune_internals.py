"""Workarounds for Tune: state half written by a kill or a full disk, and results never freed."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import pytest
import ray
from ray import tune
from ray.tune.schedulers import FIFOScheduler

from rllib_ride.experiments.asha import InOrder
from rllib_ride.experiments.tune_internals import keep_readable_state


def write_state(folder: Path, session: str) -> tuple[Path, Path]:
    (folder / "tuner.pkl").write_bytes(pickle.dumps({"a": 1}))
    state = folder / f"experiment_state-{session}.json"
    state.write_text(json.dumps({"trial_data": []}))
    search = folder / f"basic-variant-state-{session}.json"
    search.write_bytes(pickle.dumps({"b": 2}))
    return state, search


def sessions(folder: Path) -> list[str]:
    return sorted(path.stem[-1] for path in folder.glob("experiment_state-*.json"))


def test_the_newest_state_counts(tmp_path: Path) -> None:
    assert not keep_readable_state(tmp_path)
    write_state(tmp_path, "1")
    write_state(tmp_path, "2")
    assert keep_readable_state(tmp_path)
    assert sessions(tmp_path) == ["1", "2"]


@pytest.mark.parametrize("part", [0, 1])
@pytest.mark.parametrize("half", [True, False])
def test_a_half_written_state_is_removed(tmp_path: Path, part: int, half: bool) -> None:
    write_state(tmp_path, "1")
    broken = write_state(tmp_path, "2")[part]
    if half:
        broken.write_bytes(broken.read_bytes()[:-3])
    else:
        broken.unlink()

    assert keep_readable_state(tmp_path)
    assert sessions(tmp_path) == ["1"]
    assert [path.name for path in tmp_path.glob("*-2.json")] == []


def test_where_none_is_whole_there_is_none(tmp_path: Path) -> None:
    state, _ = write_state(tmp_path, "1")
    state.write_text("")
    assert not keep_readable_state(tmp_path)
    write_state(tmp_path, "1")
    (tmp_path / "tuner.pkl").write_bytes(b"")
    assert not keep_readable_state(tmp_path)


class Counting(tune.Trainable):
    def step(self):
        return {"done": self.iteration == 19}


class Held(tune.Callback):
    """Records the most references to results that Tune holds."""

    def __init__(self, scheduler: FIFOScheduler) -> None:
        self.most = 0
        before = scheduler.on_trial_result

        def on_trial_result(controller, trial, result):
            decision = before(controller, trial, result)
            held = controller._actor_manager._tracked_actors_to_task_futures.values()
            self.most = max(self.most, *map(len, held))
            return decision

        scheduler.on_trial_result = on_trial_result  # type: ignore[method-assign]


@pytest.mark.parametrize(
    ("scheduler", "is_bounded"), [(InOrder(lambda trial: None), True), (FIFOScheduler(), False)]
)
def test_tune_lets_go_of_results_that_were_reported(
    tmp_path: Path, ray_session: None, scheduler: FIFOScheduler, is_bounded: bool
) -> None:
    held = Held(scheduler)
    tune.Tuner(
        Counting,
        tune_config=tune.TuneConfig(scheduler=scheduler),
        run_config=tune.RunConfig(storage_path=str(tmp_path), verbose=0),
    ).fit()

    assert ray.is_initialized()
    assert (held.most <= 2) == is_bounded  # without `forget_results`: all twenty
