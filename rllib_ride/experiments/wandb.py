"""Logs to Weights & Biases: one W&B run per trial, one key per metric, frames as steps.

Ray's own callback logs every number of RLlib's, over iterations, from one actor per trial, and
passes the API key to it. When a trial is resumed, it logs some steps twice.
"""

from __future__ import annotations

import contextlib
import json
import shutil
import sys
import time
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ray.tune import Callback
from ray.tune.result import EXPR_RESULT_FILE

from rllib_ride.experiments.curve import COLUMNS, read_curve
from rllib_ride.experiments.errors import ConfigError
from rllib_ride.experiments.scalars import scalars
from rllib_ride.experiments.trial import Trial, short_env
from rllib_ride.experiments.wandb_login import in_netrc
from rllib_ride.run_files import CURVE_FILE, RECORD_FILE, write_whole
from rllib_ride.wording import told

if TYPE_CHECKING:
    from ray.tune import Checkpoint
    from ray.tune.experiment import Trial as TuneTrial
    from wandb import Run

STATE_FILE = "wandb.json"
_ANSWER_S = 1.0


def wandb_callbacks(mode: str, project: str, *, artifacts: bool = False) -> list[Callback]:
    """The callback that logs each trial as a W&B run; none if `mode` is `off`.

    Args:
        mode: `off`, `offline` (files for `wandb sync`) or `online`.
        project: The W&B project that the runs go to.
        artifacts: Whether to log each trial's last checkpoint too, when the trial is done.

    Raises:
        ConfigError: W&B is not installed, or `online` has no valid login.
    """
    if mode == "off":
        return []
    try:
        import wandb  # noqa: F401
    except ImportError:
        raise ConfigError(
            f"--wandb {mode} needs the package wandb: pip install 'rllib-ride[wandb]'"
        ) from None
    if mode == "online":
        _check_login()
    return [WandbCallback(mode, project, artifacts=artifacts)]


def _check_login() -> None:
    """Refuses to go online without a login that the server accepts.

    Raises:
        ConfigError: Lists the ways to log in.
    """
    import wandb

    settings = wandb.setup(wandb.Settings(silent=True)).settings
    ways = "`wandb login`, or WANDB_API_KEY in the environment; or --wandb offline, with no login"
    if not (settings.api_key or settings.identity_token_file or in_netrc(settings.base_url)):
        raise ConfigError(f"--wandb online: nobody is logged in to {settings.base_url}: {ways}")
    try:
        wandb.login(verify=True)
    except Exception as error:  # also if the server cannot be reached
        # W&B's service process still answers the request that was given up. If this process ends
        # first, nobody reads the answer, the request to shut down is lost, and `wandb.teardown`
        # waits forever.
        time.sleep(_ANSWER_S)
        raise ConfigError(f"--wandb online: {told(error)}: {ways}") from error


class WandbCallback(Callback):
    """Logs the rows of `curve.csv` with the losses of each. Must come after `CurveCallback`.

    A row is logged only once a checkpoint covers it, so that a resumed run neither takes it back
    nor logs it again. Rows that a kill kept from W&B are logged on resume, from the trial's files.
    """

    def __init__(self, mode: str, project: str, *, artifacts: bool) -> None:
        self._mode, self._project, self._artifacts = mode, project, artifacts
        self._runs: dict[str, Run] = {}
        self._steps: dict[str, int] = {}  # last logged step by trial
        self._losses: dict[str, dict[int, dict[str, float]]] = {}  # by trial and frames

    def on_trial_start(
        self, iteration: int, trials: list[TuneTrial], trial: TuneTrial, **info: Any
    ) -> None:
        """Starts or resumes the trial's W&B run."""
        import wandb

        self._losses[trial.trial_id] = {}
        if trial.trial_id in self._runs:  # retried after an error
            return
        try:
            self._start(trial)
        except wandb.Error as error:  # such as a network that is down for a while
            name = trial.config["trial"]["name"]
            print(
                f"{name} is not logged to W&B before it is resumed: {told(error)}",
                file=sys.stderr,
            )
            return
        for result in _results(_folder(trial)):
            self.on_trial_result(iteration, trials, trial, result)
        self._log_rows(trial)

    def on_trial_result(
        self,
        iteration: int,
        trials: list[TuneTrial],
        trial: TuneTrial,
        result: dict[str, Any],
        **info: Any,
    ) -> None:
        """Keeps the losses until a checkpoint."""
        if trial.trial_id not in self._runs:
            return
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
        """Logs the rows that the checkpoint covers."""
        if trial.trial_id in self._runs:
            self._log_rows(trial)

    def on_trial_complete(
        self, iteration: int, trials: list[TuneTrial], trial: TuneTrial, **info: Any
    ) -> None:
        """Ends the W&B run as finished."""
        run = self._runs.get(trial.trial_id)
        if run is None:
            return
        run.save(str(_folder(trial) / RECORD_FILE), base_path=str(_folder(trial)), policy="now")
        if self._artifacts and trial.checkpoint is not None:
            try:
                run.log_artifact(trial.checkpoint.path, name=f"checkpoint-{run.id}", type="model")
            except Exception as error:  # must not fail a trial that is done
                print(f"no checkpoint in W&B: {told(error)}", file=sys.stderr)
        self._finish(trial, exit_code=0)

    def on_trial_error(
        self, iteration: int, trials: list[TuneTrial], trial: TuneTrial, **info: Any
    ) -> None:
        """Ends the W&B run as failed."""
        self._finish(trial, exit_code=1)

    def on_experiment_end(self, trials: list[TuneTrial], **info: Any) -> None:
        """Ends the W&B runs of interrupted trials."""
        for trial in trials:
            self._finish(trial, exit_code=1)

    def _start(self, trial: TuneTrial) -> None:
        import wandb

        ours, folder = Trial(**trial.config["trial"]), _folder(trial)
        state = _read_state(folder)
        if state["open"]:  # a kill cut it off; its rows are logged again
            shutil.rmtree(folder / "wandb" / state["open"], ignore_errors=True)
        run = wandb.init(
            project=self._project,
            id=state["id"],
            name=ours.name,
            group=f"{short_env(ours.env)} {ours.method}",
            job_type="train",
            tags=[ours.method, short_env(ours.env), ours.preset],
            config=json.loads((folder / RECORD_FILE).read_text(encoding="utf-8")),
            resume="allow" if self._mode == "online" else None,
            allow_val_change=True,
            **_init_settings(self._mode, folder),
        )
        # Online, the server knows the next step, which is 0 for a new run.
        self._steps[trial.trial_id] = run.step - 1 if self._mode == "online" else state["step"]
        self._runs[trial.trial_id] = run
        if self._mode == "offline":
            state["open"] = Path(run.dir).parent.name
        _write_state(folder, state)

    def _log_rows(self, trial: TuneTrial) -> None:
        """Logs the curve's rows after the last logged one."""
        run, losses = self._runs[trial.trial_id], self._losses[trial.trial_id]
        for row in read_curve(_folder(trial) / CURVE_FILE):
            frames = int(row["frames"])
            if frames > self._steps[trial.trial_id]:
                numbers = {name: float(text) for name, text in row.items() if text}
                run.log({**numbers, **losses.get(frames, {})}, step=frames)
                self._steps[trial.trial_id] = frames
        losses.clear()

    def _finish(self, trial: TuneTrial, exit_code: int) -> None:
        run = self._runs.pop(trial.trial_id, None)
        if run is not None:
            run.finish(exit_code=exit_code)
            step = self._steps[trial.trial_id]
            _write_state(_folder(trial), {"id": run.id, "step": step, "open": None})


def log_figures(files: Sequence[Path], mode: str, project: str, folder: Path) -> None:
    """Logs an experiment's figures and tables as an artifact of a separate W&B run."""
    import wandb

    run = wandb.init(
        project=project,
        name="figures",
        job_type="figures",
        **_init_settings(mode, folder),
    )
    artifact = wandb.Artifact("figures", type="figures")
    for file in files:
        artifact.add_file(str(file))
    run.log_artifact(artifact)
    run.finish()


def _init_settings(mode: str, folder: Path) -> dict[str, Any]:
    import wandb

    return {
        "dir": folder,
        "mode": mode,
        "reinit": "create_new",  # one process logs many trials
        "settings": wandb.Settings(console="off", silent=True, save_code=False),
    }


def _folder(trial: TuneTrial) -> Path:
    return Path(trial.path or "")


def _results(folder: Path) -> Iterator[dict[str, Any]]:
    """The results of a trial that Tune has logged; skips lines that a kill has damaged."""
    path = folder / EXPR_RESULT_FILE
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else []:
        with contextlib.suppress(ValueError):
            yield json.loads(line)


def _read_state(folder: Path) -> dict[str, Any]:
    """The W&B run's id (made up once), its last step, and the folder that a kill left open."""
    try:
        return json.loads((folder / STATE_FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {"id": uuid.uuid4().hex[:8], "step": 0, "open": None}


def _write_state(folder: Path, state: dict[str, Any]) -> None:
    write_whole(folder / STATE_FILE, json.dumps(state))
