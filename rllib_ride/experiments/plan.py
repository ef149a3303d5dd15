"""Plans an experiment: expands its trials and validates all that can be known before it runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rllib_ride.experiments.build import algorithm_config, checked_request
from rllib_ride.experiments.errors import ConfigError
from rllib_ride.experiments.names import check_env, check_names
from rllib_ride.experiments.schema import ExperimentSpec, load_spec
from rllib_ride.experiments.secrets import refuse_secrets
from rllib_ride.experiments.trial import Trial, expand

if TYPE_CHECKING:
    from ray.rllib.algorithms.algorithm_config import AlgorithmConfig
    from ray.tune.execution.placement_groups import PlacementGroupFactory


@dataclass(frozen=True)
class PlannedTrial:
    """A trial, its RLlib config (valid, since it has been built) and its resource request."""

    trial: Trial
    config: AlgorithmConfig
    request: PlacementGroupFactory

    @property
    def resources(self) -> dict[str, float]:
        """Cores and accelerators that the trial occupies while it runs, such as `{"CPU": 1}`."""
        return dict(self.request.required_resources)

    @property
    def cpu_bundles(self) -> tuple[float, ...]:
        """Cores of each bundle, such as `(1.0,)`; a bundle must fit on one node."""
        return tuple(bundle.get("CPU", 0.0) for bundle in self.request.bundles)


def trials_of(
    path: str | Path,
    *,
    methods: Sequence[str] = (),
    envs: Sequence[str] = (),
    seeds: Sequence[int] = (),
    preset: str | None = None,
    frames: int | None = None,
    stop_at_return: float | None = None,
    overrides: Mapping[str, Any] | None = None,
) -> tuple[ExperimentSpec, list[Trial]]:
    """The experiment in `path` and its trials, validated as far as possible without Ray.

    Args:
        path: A file such as those in `tune_configs/`.
        methods: Methods to keep; see `expand` for this and the other arguments.
        envs: Environment ids to keep.
        seeds: Seeds to keep.
        preset: Preset that replaces the file's.
        frames: Number of frames that replaces the file's.
        stop_at_return: Mean return that replaces the file's.
        overrides: Config keys that take precedence over the file's.

    Raises:
        ConfigError: The message begins with the file's name.
    """
    spec = load_spec(path)
    if preset is not None:
        spec = spec.model_copy(update={"preset": preset})
    with naming(path):
        for env in spec.env:
            check_env(env.id)
        trials = expand(
            spec,
            methods=methods,
            envs=envs,
            seeds=seeds,
            frames=frames,
            stop_at_return=stop_at_return,
            overrides=overrides,
        )
        for trial in trials:
            refuse_secrets(trial)
        return spec, trials


def plan(path: str | Path, **asked: Any) -> list[PlannedTrial]:
    """The trials of the experiment in `path`, each with its config built.

    Args:
        path: A file such as those in `tune_configs/`.
        **asked: Keyword arguments of `trials_of`, which also lists what is raised.
    """
    return proved(path, *trials_of(path, **asked))


def proved(path: str | Path, spec: ExperimentSpec, trials: Sequence[Trial]) -> list[PlannedTrial]:
    """The trials that `trials_of` returned, each with its config built.

    Raises:
        ConfigError: See `trials_of`.
    """
    with naming(path):
        check_names(spec)
        return [planned(trial) for trial in trials]


def planned(trial: Trial) -> PlannedTrial:
    """The trial with its config built.

    Raises:
        ConfigError: The config cannot be built.
    """
    config = algorithm_config(trial)
    return PlannedTrial(trial, config, checked_request(trial, config))


@contextmanager
def naming(path: str | Path) -> Iterator[None]:
    """Puts the file's name before the message of a `ConfigError`."""
    try:
        yield
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from error.__cause__
