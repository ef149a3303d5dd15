"""Tells apart the runs of one method that were not given the same settings."""

from __future__ import annotations

import zlib
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from rllib_ride.run_files import dotted

_LONGEST = 24  # characters of a value that a legend can hold
_LONGEST_NAME = 120  # of all of them together


def variants(facts: Sequence[Mapping[str, Any]]) -> list[str]:
    """For each run what sets it apart from others of its environment and method, seeds aside.

    That is its preset, if there are several, and the config values in which runs of this preset
    differ, such as `tuned, lr=0.0001`; empty where there is nothing.

    Args:
        facts: What each run's `run.json` holds.
    """
    of_method = defaultdict(list)
    for index, fact in enumerate(facts):
        of_method[fact["env"], repr(fact.get("env_options")), fact["method"]].append(index)
    names = [""] * len(facts)
    for indices in of_method.values():
        of_preset = defaultdict(list)
        for index in indices:
            of_preset[fact_preset(facts[index])].append(index)
        for preset, peers in of_preset.items():
            differing = _differing([_settings(facts[index]["config"]) for index in peers])
            for index, settings in zip(peers, differing, strict=True):
                parts = [preset, *settings] if len(of_preset) > 1 else settings
                names[index] = _short(", ".join(filter(None, parts)), _LONGEST_NAME)
    return names


def fact_preset(fact: Mapping[str, Any]) -> str:
    """The preset a run started from; empty if its record has none."""
    return str(fact.get("preset") or "")


def _differing(configs: Sequence[Mapping[str, Any]]) -> list[list[str]]:
    """Of each config `key=value` for the keys in which not all are equal."""
    keys = sorted({key for config in configs for key in config})
    keys = [key for key in keys if len({repr(config.get(key)) for config in configs}) > 1]
    return [
        [f"{_text(key.rpartition('.')[2])}={_text(config.get(key))}" for key in keys]
        for config in configs
    ]


def _settings(config: Mapping[str, Any]) -> dict[str, Any]:
    """The config without levels, without the seed and without what RLlib keeps for itself."""
    return {
        key: value
        for key, value in dotted(config).items()
        if key != "seed" and value != {} and not any(part[:1] == "_" for part in key.split("."))
    }


def _text(value: object) -> str:
    text = f"{value:g}" if isinstance(value, float) else str(value)
    return _short(text if text.isprintable() else ascii(value), _LONGEST)


def _short(text: str, longest: int) -> str:
    """The text, or of a longer one the first half and its checksum."""
    if len(text) <= longest:
        return text
    return f"{text[: longest // 2]}...{zlib.crc32(text.encode()):08x}"
