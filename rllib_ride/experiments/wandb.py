"""Logging to Weights & Biases: a run a trial, a key a metric, frames for steps.

Ray's own callback logs every number RLlib has, over iterations, from one actor a trial to which it
hands the API key; a resumed trial logs some steps twice.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ray.tune import Callback

from rllib_ride.experiments.curve import COLUMNS, CURVE_FILE, read_curve
from rllib_ride.experiments.errors import ConfigError
from rllib_ride.experiments.record import RECORD_FILE
from rllib_ride.experiments.scalars import scalars
from rllib_ride.experiments.trial import Trial, short_env

if TYPE_CHECKING:
    from ray.tune import Checkpoint
    from ray.tune.experiment import Trial as TuneTrial
    from wandb import Run

STATE_FILE = "wandb.json"


def wandb_callbacks(mode: str, project: str, *, artifacts: bool = False) -> list[Callback]:
    """The callback that logs each trial as a W&B run; none where `mode` is `off`.

    Args:
        mode: `off`, `offline` (files for `wandb sync`) or `online`.
        project: The W&B project that the runs go to.
        artifacts: Whether each trial's last checkpoint is logged too, when it ends.

    Raises:
        ConfigError: W&B is not installed.
    """
    if mode == "off":
        return []
    try:
        import wandb  # noqa: F401
    except ImportError:
        raise ConfigError(
            f"--wandb {mode} needs the package wandb: pip install 'rllib-ride[wandb]'"
        ) from None
    return [WandbCallback(mode, project, artifacts=artifacts)]


class WandbCallback(Callback):
    """Logs the rows of `curve.csv` with the losses beside them. Has to come after `CurveCallback`.

    A row is logged once a checkpoint has it: then no resumed run takes it back or logs it again.
    The run's id and its last step are in the trial's folder.
    """

    def __init__(self, mode: str, project: str, *, artifacts: bool) -> None:
        self._mode, self._project, self._artifacts = mode, project, artifacts
        self._runs: dict[str, Run] = {}
        self._losses: dict[str, dict[int, dict[str, float]]] = {}  # by trial, by frames

    def on_trial_start(
        self, iteration: int, trials: list[TuneTrial], trial: TuneTrial, **info: Any
    ) -> None:
        """Starts the trial's run, or goes on with it."""
        self._losses[trial.trial_id] = {}
        if trial.trial_id not in self._runs:
            self._runs[trial.trial_id] = self._start(trial)
        self._log_rows(trial)  # of a checkpoint that a killed run had no time to log

    def on_trial_result(
        self,
        iteration: int,
        trials: list[TuneTrial],
        trial: TuneTrial,
        result: dict[str, Any],
        **info: Any,
    ) -> None:
        """Keeps the losses until a checkpoint."""
        values = scalars(result)
        losses = {name: value for name, value in values.items() if name not in COLUMNS}
        self._losses[trial.trial_id][int(values["frames"])] = losses

    def on_checkpoint(
        self,
        iteration: int,
        trials: list[TuneTrial],
        trial: TuneTrial,
        checkpoint: Checkpoint,
        **info: Any,
    ) -> None:
        """Logs what is safe now."""
        self._log_rows(trial)

    def on_trial_complete(
        self, iteration: int, trials: list[TuneTrial], trial: TuneTrial, **info: Any
    ) -> None:
        """Ends the run, which then counts as finished."""
        run = self._runs[trial.trial_id]
        run.save(str(_folder(trial) / RECORD_FILE), base_path=str(_folder(trial)), policy="now")
        if self._artifacts and trial.checkpoint is not None:
            run.log_artifact(trial.checkpoint.path, name=f"checkpoint-{run.id}", type="model")
        self._finish(trial, exit_code=0)

    def on_trial_error(
        self, iteration: int, trials: list[TuneTrial], trial: TuneTrial, **info: Any
    ) -> None:
        """Ends the run, which then counts as failed."""
        self._finish(trial, exit_code=1)

    def on_experiment_end(self, trials: list[TuneTrial], **info: Any) -> None:
        """Ends the runs of trials that are interrupted."""
        for trial in trials:
            self._finish(trial, exit_code=1)

    def _start(self, trial: TuneTrial) -> Run:
        import wandb

        ours, folder = Trial(**trial.config["trial"]), _folder(trial)
        state = _state(folder)
        return wandb.init(
            project=self._project,
            id=state["id"],
            name=ours.name,
            group=f"{short_env(ours.env)} {ours.method}",
            job_type="train",
            tags=[ours.method, short_env(ours.env), ours.preset],
            config=json.loads((folder / RECORD_FILE).read_text(encoding="utf-8")),
            dir=folder,
            mode=self._mode,  # type: ignore[arg-type]
            resume="allow" if self._mode == "online" else None,
            reinit="create_new",  # one process logs many trials
            settings=wandb.Settings(console="off", silent=True, save_code=False),
            allow_val_change=True,
        )

    def _log_rows(self, trial: TuneTrial) -> None:
        """Logs the curve's rows from the last logged one on."""
        folder, run = _folder(trial), self._runs[trial.trial_id]
        state, losses = _state(folder), self._losses[trial.trial_id]
        for row in read_curve(folder / CURVE_FILE):
            frames = int(row["frames"])
            if frames > state["step"]:
                numbers = {name: float(text) for name, text in row.items() if text}
                run.log({**numbers, **losses.get(frames, {})}, step=frames)
                state["step"] = frames
        losses.clear()
        (folder / STATE_FILE).write_text(json.dumps(state), encoding="utf-8")

    def _finish(self, trial: TuneTrial, exit_code: int) -> None:
        run = self._runs.pop(trial.trial_id, None)
        if run is not None:
            run.finish(exit_code=exit_code)


def log_figures(files: Sequence[Path], mode: str, project: str, folder: Path) -> None:
    """Logs an experiment's figures and tables as an artifact of a run of its own."""
    import wandb

    run = wandb.init(
        project=project,
        name="figures",
        job_type="figures",
        dir=folder,
        mode=mode,  # type: ignore[arg-type]
        reinit="create_new",
        settings=wandb.Settings(console="off", silent=True, save_code=False),
    )
    artifact = wandb.Artifact("figures", type="figures")
    for file in files:
        artifact.add_file(str(file))
    run.log_artifact(artifact)
    run.finish()


def _folder(trial: TuneTrial) -> Path:
    return Path(trial.path or "")


def _state(folder: Path) -> dict[str, Any]:
    """Id of the trial's run, made up once, and the last step it has."""
    path = folder / STATE_FILE
    if path.exists():
        return json.loads(path.read_text(encoding="utf-8"))
    state = {"id": uuid.uuid4().hex[:8], "step": 0}
    path.write_text(json.dumps(state), encoding="utf-8")
    return state
