"""Expands an experiment to its trials: every combination of env, method, seed and grid point."""

from __future__ import annotations

import itertools
import math
import re
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from rllib_ride.experiments import paper
from rllib_ride.experiments.errors import ConfigError
from rllib_ride.experiments.limits import MOST_TRIALS
from rllib_ride.experiments.schema import EnvChoice, ExperimentSpec
from rllib_ride.wording import shown

_MOST_LISTED = 20  # entries in a message
_LONGEST_SETTINGS = 100  # bytes of a folder's name; file systems allow 255 in all


@dataclass(frozen=True)
class Trial:
    """One training run, described by JSON-serializable values.

    Attributes:
        experiment: The experiment it belongs to.
        name: Name of its folder, such as `ride_MultiRoom-N7-S4_seed1`.
        env: Environment id.
        env_options: Options of the environment.
        method: Intrinsic reward, or `none`.
        preset: The set of hyperparameters that `config` overrides.
        seed: Seed of environments, networks and actions.
        frames: Transitions the agent chooses before the trial stops.
        schedule_frames: Transitions over which the preset anneals. A run that `--frames` stops
            early is the beginning of the full run, not a run with a faster anneal.
        config: Overrides by RLlib's names; `intrinsic` holds those of the intrinsic reward, and
            `preset` those of the preset's own values.
        checkpoint_every_s: Seconds of training between checkpoints.
        stop_at_return: Mean return over 100 episodes at which the trial stops before its frames.
        asha: Settings of ASHA, which may stop the trial early; see `ExperimentSpec`.
    """

    experiment: str
    name: str
    env: str
    env_options: dict[str, Any]
    method: str
    preset: str
    seed: int
    frames: int
    schedule_frames: int
    config: dict[str, Any]
    checkpoint_every_s: float
    stop_at_return: float | None = None
    asha: dict[str, Any] | None = None

    def to_dict(self) -> dict[str, Any]:
        """The trial as plain values; `Trial(**trial.to_dict()) == trial`."""
        return asdict(self)


def expand(
    spec: ExperimentSpec,
    *,
    methods: Sequence[str] = (),
    envs: Sequence[str] = (),
    seeds: Sequence[int] = (),
    frames: int | None = None,
    stop_at_return: float | None = None,
    overrides: Mapping[str, Any] | None = None,
) -> list[Trial]:
    """The trials of an experiment, or those that a command line asks for.

    The longest come first: a trial cannot be divided, and a long one that starts last would run
    alone at the end. Otherwise they are in the order of the file.

    Args:
        spec: The experiment.
        methods: Methods to keep (empty: all); likewise `envs` and `seeds`.
        envs: Environment ids to keep.
        seeds: Seeds to keep.
        frames: Stop after this many transitions, whatever the file says.
        stop_at_return: Stop at this mean return over 100 episodes, whatever the file says.
        overrides: Config keys, dotted for nested ones, that take precedence over the file's
            `config` and `grid`; a key of the grid is then no longer searched.

    Raises:
        ConfigError: The experiment has no such method, environment or seed; there are too many
            trials, or two of one name; or the paper has no total of frames for an environment.
    """
    grid = {key: values for key, values in spec.grid.items() if key not in (overrides or {})}
    chosen_envs = [e for e in spec.env if e.id in _narrow("env", [e.id for e in spec.env], envs)]
    chosen_methods = _narrow("method", spec.method, methods)
    chosen_seeds = _narrow("seed", spec.seed, seeds)
    _check_number([chosen_envs, chosen_methods, chosen_seeds, *grid.values()])
    trials = [
        Trial(
            experiment=spec.experiment,
            name=_name(method, env, seed, point),
            env=env.id,
            env_options=env.options,
            method=method,
            preset=spec.preset,
            seed=seed,
            frames=frames or total,
            schedule_frames=max(total, frames or 0),
            config=_merged(spec.config, point, overrides or {}),
            checkpoint_every_s=spec.checkpoint_every_s,
            stop_at_return=spec.stop_at_return if stop_at_return is None else stop_at_return,
            asha=spec.asha,
        )
        for env, total in ((env, _frames(env, spec)) for env in chosen_envs)
        for method in chosen_methods
        for seed in chosen_seeds
        for point in _grid_points(grid)
    ]
    trials.sort(key=lambda trial: trial.frames, reverse=True)  # stable
    name, times = Counter(trial.name for trial in trials).most_common(1)[0]
    if times > 1:
        raise ConfigError(f"{times} trials would share the folder {name!r}")
    return trials


def _check_number(choices: Sequence[Sequence[Any]]) -> None:
    number = math.prod(map(len, choices))
    if number > MOST_TRIALS:
        told = f"{number:,}" if number < 10**15 else "more than 10^15"
        raise ConfigError(
            f"keys 'env', 'method', 'seed' and 'grid' together make {told} trials, expected "
            f"at most {MOST_TRIALS:,}"
        )


def short_env(env_id: str) -> str:
    """An environment's id without module, `MiniGrid-` and `-v0`; other versions stay."""
    return re.sub(r"^.*:|MiniGrid-|-v0$", "", env_id)


def _frames(env: EnvChoice, spec: ExperimentSpec) -> int:
    if isinstance(spec.frames, int):
        return spec.frames
    if env.id not in paper.FRAMES:
        raise ConfigError(
            f"key 'frames' must be a number for {env.id}: the paper's totals are of "
            f"{', '.join(paper.FRAMES)}"
        )
    return paper.FRAMES[env.id]


def _narrow(key: str, there: Sequence[Any], wanted: Sequence[Any]) -> Sequence[Any]:
    for value in wanted:
        if value not in there:
            listed = ", ".join(str(entry) for entry in there[:_MOST_LISTED])
            more = f" and {len(there) - _MOST_LISTED} more" if len(there) > _MOST_LISTED else ""
            raise ConfigError(
                f"{key} {shown(value)} is not in the experiment, which has: {listed}{more}"
            )
    return [value for value in there if not wanted or value in wanted]


def _grid_points(grid: Mapping[str, Iterable[Any]]) -> Iterator[dict[str, Any]]:
    for values in itertools.product(*grid.values()):
        yield dict(zip(grid, values, strict=True))


def _merged(
    config: Mapping[str, Any], point: Mapping[str, Any], overrides: Mapping[str, Any]
) -> dict[str, Any]:
    """A copy of `config` with dotted keys set in order; `config` itself does not change."""
    merged = dict(config)
    for dotted, value in [*point.items(), *overrides.items()]:
        *parents, last = dotted.split(".")
        level = merged
        for parent in parents:
            if not isinstance(level.get(parent, {}), Mapping):
                raise ConfigError(f"key {shown(dotted)}: {shown(parent)} holds no keys of its own")
            level[parent] = dict(level.get(parent, {}))
            level = level[parent]
        level[last] = value
    return merged


def _name(method: str, env: EnvChoice, seed: int, point: Mapping[str, Any]) -> str:
    settings = [f"{key.split('.')[-1]}={value}" for key, value in {**env.options, **point}.items()]
    parts = [method, short_env(env.id), _short("_".join(settings)), f"seed{seed}"]
    return re.sub(r"[^\w.=+-]+", "-", "_".join(filter(None, parts)))


def _short(settings: str) -> str:
    """The text; if it is too long for a folder's name, its beginning and a checksum."""
    encoded = settings.encode("utf-8", errors="backslashreplace")
    if len(encoded) <= _LONGEST_SETTINGS:
        return settings
    begin = encoded[:_LONGEST_SETTINGS].decode("utf-8", errors="ignore")
    return f"{begin}-{zlib.crc32(encoded):08x}"
