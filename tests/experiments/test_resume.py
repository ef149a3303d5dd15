"""What a run is resumed with: its own settings, more frames, the newest whole checkpoint."""

from __future__ import annotations

import pickle
import shutil
from pathlib import Path
from typing import Any

import pytest
from ray.train import CheckpointConfig
from ray.tune.experiment import Trial as TuneTrial
from ray.tune.registry import register_trainable
from ray.tune.search import BasicVariantGenerator

from helpers.trials import TRIAL, result, trial
from rllib_ride.experiments.checkpoints import seal
from rllib_ride.experiments.errors import ConfigError
from rllib_ride.experiments.resume import ResumeCallback, resumed_trials, write_trials
from rllib_ride.experiments.trial import Trial
from rllib_ride.experiments.tune_internals import has_whole_state


def resumed(folder: Path, before: Trial, now: Trial) -> Trial:
    write_trials([before], folder)
    (got,) = resumed_trials([now], folder)
    return got


def test_the_same_settings_go_on(tmp_path: Path) -> None:
    assert resumed(tmp_path, TRIAL, TRIAL) == TRIAL


def test_more_frames_leave_the_schedules_as_they_were(tmp_path: Path) -> None:
    before = trial(frames=1000, schedule_frames=9000)
    now = trial(frames=20_000, schedule_frames=20_000)
    extended = trial(frames=20_000, schedule_frames=9000)
    assert resumed(tmp_path, before, now) == extended
    assert resumed(tmp_path, extended, now) == extended


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"frames": 1999}, "frames of ride_Empty-5x5_seed7 is 2000, not 1999"),
        ({"config": {"lr": 1e-3}}, "config of ride_Empty-5x5_seed7 is {}, not {'lr': 0.001}"),
        ({"frames": 3000, "seed": 8}, "seed of ride_Empty-5x5_seed7 is 7, not 8"),
        ({"name": "other"}, "its trials are ride_Empty-5x5_seed7, not other"),
    ],
)
def test_other_settings_are_refused(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError) as error:
        resumed(tmp_path, TRIAL, trial(**changes))
    assert message in str(error.value)


def test_frames_at_a_learning_rate_of_0_are_refused(tmp_path: Path) -> None:
    before = trial(preset="paper", frames=2000, schedule_frames=3000)
    now = trial(preset="paper", frames=3000, schedule_frames=3000)
    assert resumed(tmp_path, before, now).frames == 3000
    with pytest.raises(ConfigError, match="its learning rate is 0 from 3,000 frames on"):
        resumed(tmp_path, before, trial(preset="paper", frames=3001))


def test_asha_has_its_rungs_from_the_start(tmp_path: Path) -> None:
    asha = {"grace_frames": 100, "reduction_factor": 2}
    with pytest.raises(ConfigError, match="a run with 'asha' cannot be given more frames"):
        resumed(tmp_path, trial(asha=asha), trial(asha=asha, frames=3000))


# --- the newest whole checkpoint


def checkpoint(folder: Path, number: int, mean: float) -> Path:
    path = folder / f"checkpoint_{number:06}"
    path.mkdir(parents=True)
    (path / "weights").write_text("w" * 100)
    seal(path, result(1000 * number, float(number), mean, training_iteration=number))
    return path


def tune_trial(folder: Path) -> TuneTrial:
    from ray.train._internal.storage import StorageContext

    register_trainable("test", lambda config: None)
    return TuneTrial(
        "test",
        stub=False,
        config={"trial": TRIAL.to_dict()},
        checkpoint_config=CheckpointConfig(num_to_keep=1, checkpoint_score_attribute="return_mean"),
        storage=StorageContext(str(folder), "x", trial_dir_name=TRIAL.name),
    )


def names(folder: Path) -> list[str]:
    return sorted(path.name[-1] for path in folder.glob("checkpoint_*"))


@pytest.mark.parametrize("tune_knows", ["nothing", "one that is gone", "all"])
def test_a_trial_goes_on_from_its_newest_whole_checkpoint(tmp_path: Path, tune_knows: str) -> None:
    from ray.train import Checkpoint
    from ray.train._internal.session import _TrainingResult

    folder = tmp_path / "x" / TRIAL.name
    ours = tune_trial(tmp_path)
    if tune_knows == "one that is gone":
        gone = checkpoint(folder, 3, mean=0.9)
        ours.on_checkpoint(_TrainingResult(Checkpoint(str(gone)), result(3000, 3.0, 0.9)))
        shutil.rmtree(gone)
    best, last = checkpoint(folder, 4, mean=0.8), checkpoint(folder, 6, mean=0.2)
    if tune_knows == "all":
        for path, mean in ((best, 0.8), (last, 0.2)):
            ours.on_checkpoint(_TrainingResult(Checkpoint(str(path)), result(0, 0.0, mean)))
    half = checkpoint(folder, 7, mean=0.9)
    (half / "weights").write_text("w")

    ResumeCallback([trial(frames=9000)]).on_step_begin(0, [ours])

    saved = ours.latest_checkpoint_result
    assert saved is not None and saved.checkpoint is not None
    assert saved.checkpoint.path == str(last)
    assert saved.metrics["training_iteration"] == 6
    assert names(folder) == ["4", "6"]  # the best and the last; the half one is gone
    assert ours.config["trial"]["frames"] == 9000
    assert ours.storage is not None
    assert ours.storage.current_checkpoint_index == 6


def test_a_trial_that_tune_takes_for_new_goes_on_from_there_too(tmp_path: Path) -> None:
    ours, callback = tune_trial(tmp_path), ResumeCallback([TRIAL])
    there = checkpoint(tmp_path / "x" / TRIAL.name, 4, mean=0.8)

    callback.on_step_begin(0, [])
    callback.on_trial_start(0, [ours], ours)
    saved = ours.latest_checkpoint_result
    assert saved is not None and saved.checkpoint is not None
    assert saved.checkpoint.path == str(there)

    # Tried again, it goes on from what Tune knows by then.
    checkpoint(tmp_path / "x" / TRIAL.name, 5, mean=0.8)
    callback.on_trial_start(0, [ours], ours)
    assert ours.latest_checkpoint_result is saved


def test_the_best_and_the_last_are_kept(tmp_path: Path) -> None:
    from ray.train import Checkpoint
    from ray.train._internal.session import _TrainingResult

    ours, folder = tune_trial(tmp_path), tmp_path / "x" / TRIAL.name
    kept = []
    for number, mean in enumerate([float("nan"), float("nan"), 0.1, 0.7, 0.3, 0.7, 0.2, 0.1]):
        path = checkpoint(folder, number, mean)
        ours.on_checkpoint(_TrainingResult(Checkpoint(str(path)), result(1000 * number, 1.0, mean)))
        kept.append("".join(names(folder)))
    assert kept == ["0", "1", "2", "3", "34", "5", "56", "57"]


def test_trials_that_more_frames_have_put_in_another_order_go_on(tmp_path: Path) -> None:
    first, second = trial(name="a"), trial(name="b")
    write_trials([first, second], tmp_path)
    longer = trial(name="b", frames=9000)
    assert resumed_trials([longer, first], tmp_path)[0] == first


# --- what Tune keeps of a run


@pytest.fixture
def state(tmp_path: Path) -> Path:
    """A run's folder with the files of two sessions."""
    (tmp_path / "tuner.pkl").write_bytes(pickle.dumps({"a": [1.5] * 100}))
    for session in ("2026-11-28_12-00-00", "2026-11-28_13-00-00"):
        (tmp_path / f"experiment_state-{session}.json").write_text('{"trial_data": [1, 2]}')
        BasicVariantGenerator().save_to_dir(str(tmp_path), session)
    return tmp_path


def test_state_that_tune_can_read_is_whole(state: Path) -> None:
    assert has_whole_state(state)
    # Tune reads the newest only.
    (state / "experiment_state-2026-11-28_12-00-00.json").write_text('{"tri')
    assert has_whole_state(state)


@pytest.mark.parametrize(
    "name",
    [
        "tuner.pkl",
        "experiment_state-2026-11-28_13-00-00.json",
        "basic-variant-state-2026-11-28_13-00-00.json",
    ],
)
def test_half_a_file_is_not_whole_state(state: Path, name: str) -> None:
    content = (state / name).read_bytes()
    for length in range(0, len(content), 7):
        (state / name).write_bytes(content[:length])
        assert not has_whole_state(state), length


def test_a_folder_without_state_has_none(tmp_path: Path) -> None:
    assert not has_whole_state(tmp_path)
