"""Extracts a run's settings from RLlib's full config."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from rllib_ride.run_files import dotted

_INTRINSIC = "intrinsic"
# RLlib stores this setting under a private name.
_PRIVATE = {"_train_batch_size_per_learner": "train_batch_size_per_learner"}
# Only the text of this entry names the policy's network.
_MODULES, _NETWORK = "_rl_module_spec", re.compile(r"'network': '(\w+)'")
_LEARNER, _ALGORITHM = "_learner_class", re.compile("IMPALA|APPO|PPO")


def settings_of(config: Mapping[str, Any]) -> dict[str, Any]:
    """A record's settings by their dotted names in a YAML file, such as `intrinsic.coef`.

    Excludes the seed and the internals of RLlib and this package, which may change with the code.
    Empty mappings, functions and classes become None.
    """
    settings = {}
    for key, value in dotted(config).items():
        name = _PRIVATE.get(key, key).removeprefix("learner_config_dict.")
        is_own = any(part[:1] == "_" for part in name.split("."))
        if name != "seed" and not name.startswith("callbacks_") and not is_own:
            settings[name] = None if value == {} or _is_code(value) else value
    if network := _NETWORK.search(str(config.get(_MODULES))):
        settings["network"] = network[1]
    return settings


def entry_of(name: str) -> str:
    """The entry that a setting belongs to; all runs of one version of the code have the same ones.

    The user chooses what is below an entry, as in `intrinsic.method_config`. If only the setting is
    missing, the user did not set it; if the entry is missing, that version of the code lacked it.
    """
    parts = name.split(".")
    return ".".join(parts[: 2 if parts[0] == _INTRINSIC else 1])


def algorithm_of(config: Mapping[str, Any]) -> str:
    """`IMPALA`, `APPO` or `PPO`, by the record's Learner; empty if the record has none."""
    found = _ALGORITHM.search(str(config.get(_LEARNER)))
    return found[0] if found else ""


def _is_code(value: Any) -> bool:
    """Whether a value is the text of a function or class, or a list of such."""
    values = value if isinstance(value, list) else [value]
    return any(isinstance(v, str) and v[:1] == "<" and v[-1:] == ">" for v in values)
