"""The settings of a run, out of all that RLlib's config holds."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from rllib_ride.run_files import dotted

_INTRINSIC = "intrinsic"
# Set by this name; RLlib keeps the value under its own.
_PRIVATE = {"_train_batch_size_per_learner": "train_batch_size_per_learner"}
# The record has the policy's network in the text of this entry alone.
_MODULES, _NETWORK = "_rl_module_spec", re.compile(r"'network': '(\w+)'")
_LEARNER, _ALGORITHM = "_learner_class", re.compile("IMPALA|APPO|PPO")


def settings_of(config: Mapping[str, Any]) -> dict[str, Any]:
    """A record's settings by their dotted names as a YAML has them, such as `intrinsic.coef`.

    Not among them: the seed, and what is RLlib's or the plug's own, which a change of code may
    change. A mapping without entries counts as None, and so do functions and classes.
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
    """The entry that a setting belongs to: all of one version of the code have the same ones.

    Below are those that a user has given, of `intrinsic.method_config` for example: where one is
    missing there it was not given, and where the entry is missing the code did not have it.
    """
    parts = name.split(".")
    return ".".join(parts[: 2 if parts[0] == _INTRINSIC else 1])


def algorithm_of(config: Mapping[str, Any]) -> str:
    """`IMPALA`, `APPO` or `PPO`, by the Learner that trained; empty if the record has none."""
    found = _ALGORITHM.search(str(config.get(_LEARNER)))
    return found[0] if found else ""


def _is_code(value: Any) -> bool:
    """Whether a value is the text of a function or class, or a list of such."""
    values = value if isinstance(value, list) else [value]
    return any(isinstance(v, str) and v[:1] == "<" and v[-1:] == ">" for v in values)
