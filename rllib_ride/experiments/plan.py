"""Everything about a run that can be known, and refused, before it starts."""

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
    """A trial, the RLlib config that was built for it and so proved valid, what it asks Ray for."""

    trial: Trial
    config: AlgorithmConfig
    request: PlacementGroupFactory

    @property
    def resources(self) -> dict[str, float]:
        """Cores and accelerators that it occupies while it runs, such as `{"CPU": 1}`."""
        return dict(self.request.required_resources)

    @property
    def cpu_bundles(self) -> tuple[float, ...]:
        """Cores that it needs on one node each, such as `(1.0,)`."""
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
    """The experiment in `path` and its trials, as far as can be told without importing Ray.

    Args:
        path: A file such as those in `tune_configs/`.
        methods: See `expand`, for this and the others.
        envs: Environment ids to keep.
        seeds: Seeds to keep.
        preset: Name of a preset to have instead.
        frames: Where to stop instead.
        stop_at_return: Mean return at which to stop instead.
        overrides: Config keys that win over the file's.

    Raises:
        ConfigError: One message that begins with the file.
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
        **asked: See `trials_of`, for this and what it raises.
    """
    return proved(path, *trials_of(path, **asked))


def proved(path: str | Path, spec: ExperimentSpec, trials: Sequence[Trial]) -> list[PlannedTrial]:
    """What `trials_of` gave, with each trial's config built.

    Raises:
        ConfigError: See `trials_of`.
    """
    with naming(path):
        check_names(spec)
        return [planned(trial) for trial in trials]


def planned(trial: Trial) -> PlannedTrial:
    """The trial with its config built.

    Raises:
        ConfigError: It cannot be.
    """
    config = algorithm_config(trial)
    return PlannedTrial(trial, config, checked_request(trial, config))


@contextmanager
def naming(path: str | Path) -> Iterator[None]:
    """Puts the file's name before what is wrong in it."""
    try:
        yield
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from error.__cause__
