"""A run resumes with its own settings, perhaps more frames, and the newest whole checkpoint."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from ray.train import CheckpointConfig
from ray.tune.experiment import Trial as TuneTrial
from ray.tune.registry import register_trainable

from helpers.trials import TRIAL, result, trial
from rllib_ride.experiments.checkpoints import seal
from rllib_ride.experiments.errors import ConfigError
from rllib_ride.experiments.resume import Resumption, resumed_trials, write_trials
from rllib_ride.experiments.retry import NEW_EPISODES, RetryCallback
from rllib_ride.experiments.trial import Trial


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

    Resumption([trial(frames=9000)]).prepare(ours)

    saved = ours.latest_checkpoint_result
    assert saved is not None and saved.checkpoint is not None
    assert saved.checkpoint.path == str(last)
    assert saved.metrics["training_iteration"] == 6
    assert names(folder) == ["4", "6"]  # the best and the last; the half one is gone
    assert ours.config["trial"]["frames"] == 9000
    assert ours.storage is not None
    assert ours.storage.current_checkpoint_index == 6


def test_a_trial_without_a_whole_checkpoint_begins_anew(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from ray.train import Checkpoint
    from ray.train._internal.session import _TrainingResult

    folder, ours = tmp_path / "x" / TRIAL.name, tune_trial(tmp_path)
    half = checkpoint(folder, 3, mean=0.9)
    ours.on_checkpoint(_TrainingResult(Checkpoint(str(half)), result(3000, 3.0, 0.9)))
    (half / "weights").write_text("w")

    Resumption([TRIAL]).prepare(ours)

    assert ours.checkpoint is None and names(folder) == []
    assert ours.storage is not None and ours.storage.current_checkpoint_index == -1
    assert f"{folder}: none of its checkpoints is whole" in capsys.readouterr().err


def test_a_trial_that_failed_begins_new_episodes_until_it_has_a_checkpoint(tmp_path: Path) -> None:
    ours, callback = tune_trial(tmp_path), RetryCallback()
    Resumption([TRIAL]).prepare(ours)
    assert ours.config == {"trial": TRIAL.to_dict(), NEW_EPISODES: False}
    callback.on_trial_recover(1, [ours], ours)
    assert ours.config[NEW_EPISODES]
    callback.on_checkpoint(2, [ours], ours, None)  # type: ignore[arg-type]
    assert not ours.config[NEW_EPISODES]

    ours.run_metadata.num_failures = 1  # and the run ended before the next checkpoint
    Resumption([TRIAL]).prepare(ours)
    assert ours.config[NEW_EPISODES]


def test_a_checkpoint_of_another_method_is_refused_before_the_start(tmp_path: Path) -> None:
    folder = checkpoint(tmp_path / TRIAL.name, 3, mean=0.5)
    seal(folder, {}, method="icm")
    write_trials([TRIAL], tmp_path)
    with pytest.raises(ConfigError, match="000003: method is 'icm', and this trial has 'ride'"):
        resumed_trials([TRIAL], tmp_path)


@pytest.mark.parametrize(("saved", "status"), [(3000, "TERMINATED"), (2000, "PENDING")])
def test_a_trial_that_has_ended_goes_on_only_where_its_end_was_not_saved(
    tmp_path: Path, saved: int, status: str
) -> None:
    from ray.train import Checkpoint
    from ray.train._internal.session import _TrainingResult

    ours = tune_trial(tmp_path)
    path = checkpoint(tmp_path / "x" / TRIAL.name, 1, mean=0.5)
    ours.on_checkpoint(_TrainingResult(Checkpoint(str(path)), result(saved, 1.0)))
    ours.run_metadata.last_result = result(3000, 2.0, done=True)

    Resumption([TRIAL], ended=[TRIAL.name]).prepare(ours)

    assert ours.status == status


def test_a_trial_that_tune_has_just_made_goes_on_from_what_is_there(tmp_path: Path) -> None:
    folder = tmp_path / "x" / TRIAL.name
    last = checkpoint(folder, 4, mean=0.5)
    ours = tune_trial(tmp_path)
    assert ours.checkpoint is None

    Resumption([TRIAL]).prepare(ours)

    assert ours.checkpoint is not None and ours.checkpoint.path == str(last)
    assert ours.storage is not None and ours.storage.current_checkpoint_index == 4


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
