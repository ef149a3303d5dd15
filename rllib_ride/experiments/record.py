"""`run.json`: everything needed to tell what a trial was, and to run it again."""

from __future__ import annotations

import json
import platform
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ray.tune import Callback

from rllib_ride.experiments.build import algorithm_config
from rllib_ride.experiments.progress import Progress
from rllib_ride.experiments.trial import Trial
from rllib_ride.machine import package_version
from rllib_ride.run_files import RECORD_FILE, dotted, resumptions, write_whole
from rllib_ride.wording import shown

if TYPE_CHECKING:
    from ray.rllib.algorithms.algorithm_config import AlgorithmConfig
    from ray.tune.experiment import Trial as TuneTrial

_PACKAGES = ("rllib-ride", "ray", "torch", "gymnasium", "minigrid", "numpy")
_COUNTED = {
    "full": "the full grid with the agent in it, or a game's coarse frame (infos' state_key)",
    "view": "the policy's observation",
    "none": "nothing: no state is counted",
}


class RecordCallback(Callback):
    """Writes each trial's `run.json` when it first starts, and adds how it ended.

    A resumed trial keeps its record, with its new number of frames. If the code has changed since,
    `resumed` adds the commit and versions it went on with, and the settings that differ.
    """

    def on_trial_start(
        self, iteration: int, trials: list[TuneTrial], trial: TuneTrial, **info: Any
    ) -> None:
        """Writes the record."""
        ours = Trial(**trial.config["trial"])
        before, config = _read(trial), algorithm_config(ours)
        if before is None:
            _write(trial, record(ours, config))
            return
        after = dict(before)
        if before.get("frames") != ours.frames:
            after.pop("ended", None)
            after["frames"] = ours.frames
        if resumption := resumed(before, _as_read(made_with(config))):
            after["resumed"] = [*resumptions(before), resumption]
            _say(ours.name, resumption["changed"])
        if after != before:
            _write(trial, after)

    def on_trial_complete(
        self, iteration: int, trials: list[TuneTrial], trial: TuneTrial, **info: Any
    ) -> None:
        """Adds why the trial ended, and with what return."""
        ours, last = Trial(**trial.config["trial"]), Progress.of(trial.last_result)
        if last.solves(ours):
            why = f"solved: return {ours.stop_at_return:g} over 100 episodes"
        else:
            why = "all frames" if last.frames >= ours.frames else "behind other trials (ASHA)"
        mean = None if last.return_mean != last.return_mean else last.return_mean
        ended = {"why": why, "frames": last.frames, "return_mean": mean}
        _write(trial, {**(_read(trial) or {}), "ended": ended})


def _path(trial: TuneTrial) -> Path:
    return Path(trial.path or "") / RECORD_FILE


def _read(trial: TuneTrial) -> dict[str, Any] | None:
    """The existing record; None if there is none, or a killed run left half of one."""
    try:
        found = json.loads(_path(trial).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None


def _write(trial: TuneTrial, content: dict[str, Any]) -> None:
    path = _path(trial)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, _text(content) + "\n")


def _text(content: dict[str, Any]) -> str:
    text = json.dumps(content, indent=2, default=str)
    # The default text of functions and objects has a memory address, which says nothing of a run.
    return re.sub(r"( object)? at 0x[0-9a-f]+", "", text)


def _as_read(content: dict[str, Any]) -> dict[str, Any]:
    """A record after a round trip through JSON: tuples become lists, objects strings."""
    return json.loads(_text(content))


def record(trial: Trial, config: AlgorithmConfig) -> dict[str, Any]:
    """The content of `run.json`: the trial, what its parts observe, code versions, all settings.

    `config` is RLlib's whole config; `overrides` are the trial's own, enough to run it again.
    """
    told = trial.to_dict()
    told["overrides"] = told.pop("config")
    # `dict(**a, **b)` raises on a duplicate key, where `{**a, **b}` would silently drop an entry.
    return dict(**told, **_what_each_sees(trial, config), **made_with(config))


def made_with(config: AlgorithmConfig) -> dict[str, Any]:
    """What may have changed when a trial resumes: commit, versions and all settings."""
    return {
        "git_commit": _git_commit(),
        "versions": {"python": platform.python_version(), **_versions()},
        "config": config.serialize(),
    }


def resumed(before: dict[str, Any], now: dict[str, Any]) -> dict[str, Any] | None:
    """What has changed in code and settings since the trial last started or resumed.

    Args:
        before: The trial's `run.json`.
        now: Today's `made_with`, after a round trip through JSON.

    Returns:
        Today's commit and versions, and `changed`: the old and new value of each setting, by dotted
        name. None if nothing has changed.
    """
    earlier = resumptions(before)
    last = {**before, **(earlier[-1] if earlier else {})}
    config = before.get("config")
    # If somebody has removed the config from the record, assume that no setting has changed.
    settings = dotted(config if isinstance(config, dict) else now["config"])
    for resumption in earlier:
        settings |= {name: value for name, (_, value) in resumption["changed"].items()}
    today = dotted(now["config"])
    changed = {
        name: [settings.get(name), today.get(name)]
        for name in {**settings, **today}
        if repr(settings.get(name)) != repr(today.get(name))  # by repr, NaN equals NaN
    }
    code = {key: value for key, value in now.items() if key != "config"}
    if not changed and all(last.get(key) == value for key, value in code.items()):
        return None
    return {**code, "changed": changed}


def _say(name: str, changed: dict[str, list[Any]]) -> None:
    """Prints one line about the settings that have changed for a resumed trial."""
    told = [f"{key} is {shown(now)}, not {shown(old)}" for key, (old, now) in changed.items()]
    if told:
        more = f", and {len(told) - 1} more" if len(told) > 1 else ""
        print(
            f"{name} goes on with the settings that the code has now, which differ from those it "
            f"had: {told[0]}{more} (all: its {RECORD_FILE})",
            file=sys.stderr,
        )


def _what_each_sees(trial: Trial, config: AlgorithmConfig) -> dict[str, str]:
    import gymnasium as gym

    from rllib_ride.rllib.settings import IntrinsicSettings
    from rllib_ride.rllib.visits import counts_of

    env = gym.make_vec(trial.env, num_envs=1, **trial.env_options)
    observation = str(env.single_observation_space)
    env.close()
    settings = IntrinsicSettings.of(config)
    return {
        "policy_sees": observation,
        "bonus_sees": observation if settings.has_bonus else "nothing: there is no bonus",
        "counts_see": _COUNTED[counts_of(settings)],
    }


def _git_commit() -> str | None:
    """The commit of this package's code, with `-dirty` if modified; None outside a clone."""
    here = Path(__file__).parent
    git = ["git", "-C", str(here), "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"]
    try:
        answer = subprocess.run(git, capture_output=True, text=True, timeout=10, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return answer.stdout.strip()


def _versions() -> dict[str, str]:
    return {name: package_version(name) for name in _PACKAGES}
