"""What TensorBoard gets from a result."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

from helpers.event_files import read_events
from helpers.trials import result
from rllib_ride.experiments.tensorboard import TensorBoardCallback


class LocalTrial(SimpleNamespace):
    """The parts of Tune's trial that its logger uses; hashed by identity."""

    __hash__ = object.__hash__  # type: ignore[assignment]

    def init_local_path(self) -> None:
        """Does nothing: the folder exists."""


def test_points_over_frames_from_the_first_frame_on(tmp_path: Path) -> None:
    trial: Any = LocalTrial(local_path=str(tmp_path), evaluated_params={})
    callback = TensorBoardCallback()
    callback.log_trial_start(trial)
    callback.log_trial_result(0, trial, result(0, 1.0, env_runners={}, learners={}))
    callback.log_trial_result(1, trial, result(1200, 2.0, mean=0.25))
    callback.log_trial_end(trial)

    (file,) = tmp_path.glob("events.out.tfevents.*")
    points = list(read_events(file))
    assert {step for step, _, _ in points} == {1200}
    values = {name.removeprefix("ray/tune/"): value for _, name, value in points}
    assert values["return_mean"] == 0.25 and values["intrinsic/inverse_loss"] == 1.75
