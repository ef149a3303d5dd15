"""The registry of methods by name: those of this package and those that users register."""

from __future__ import annotations

import importlib

from rllib_ride.intrinsic.count import Count
from rllib_ride.intrinsic.e3b import E3b
from rllib_ride.intrinsic.icm import Icm
from rllib_ride.intrinsic.method import IntrinsicMethod
from rllib_ride.intrinsic.no_episodic_counts import NoEntropyNoEpisodicCounts, NoEpisodicCounts
from rllib_ride.intrinsic.noveld import NovelD
from rllib_ride.intrinsic.only_episodic_counts import OnlyEpisodicCounts
from rllib_ride.intrinsic.ride import Ride
from rllib_ride.intrinsic.ride_raw_observations import RideRawObservations
from rllib_ride.intrinsic.ride_shared_embedding import RideSharedEmbedding
from rllib_ride.intrinsic.rnd import Rnd
from rllib_ride.wording import unknown

_METHODS: dict[str, type[IntrinsicMethod] | None] = {
    "none": None,  # the plain algorithm, the baseline that every bonus is compared with
    "ride": Ride,
    "icm": Icm,
    "rnd": Rnd,
    "count": Count,
    "only_episodic_counts": OnlyEpisodicCounts,
    "no_episodic_counts": NoEpisodicCounts,
    "no_entropy_no_episodic_counts": NoEntropyNoEpisodicCounts,
    "ride_shared_embedding": RideSharedEmbedding,
    "ride_raw_observations": RideRawObservations,
    "noveld": NovelD,
    "e3b": E3b,
}


def methods() -> list[str]:
    """The registered names, sorted."""
    return sorted(_METHODS)


def get_method(name: str) -> type[IntrinsicMethod] | None:
    """The class registered as `name`; None for "none", which trains without a bonus.

    Args:
        name: a registered name, or `module:name` if importing `module` registers `name`.

    Raises:
        ValueError: there is no such method, or no such module.
    """
    module, _, name = name.rpartition(":")
    if module:
        try:
            importlib.import_module(module)
        except (ImportError, TypeError, ValueError) as error:  # the last two: not a module's name
            raise ValueError(f"method '{module}:{name}': {error}") from error
    if name in _METHODS:
        return _METHODS[name]
    raise ValueError(unknown("method", name, _METHODS))


def register_method(name: str, cls: type[IntrinsicMethod]) -> None:
    """Registers `cls` as `name`. Registering the same class again is allowed, as in a notebook.

    Raises:
        TypeError: `cls` is not a subclass of IntrinsicMethod.
        ValueError: `name` belongs to another class.
    """
    if not (isinstance(cls, type) and issubclass(cls, IntrinsicMethod)):
        raise TypeError(f"method '{name}' must be a subclass of IntrinsicMethod, not {cls!r}")
    if name in _METHODS and _full_name(_METHODS[name]) != _full_name(cls):
        raise ValueError(f"method '{name}' is already {_full_name(_METHODS[name])}")
    _METHODS[name] = cls


def _full_name(cls: type[IntrinsicMethod] | None) -> str:
    return f"{cls.__module__}.{cls.__qualname__}" if cls else "the plain algorithm"
