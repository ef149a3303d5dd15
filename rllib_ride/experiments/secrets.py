"""Refuses settings that look like a password or a token, which no file of a run may hold."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from rllib_ride.experiments.errors import ConfigError
from rllib_ride.wording import shown

if TYPE_CHECKING:
    from rllib_ride.experiments.trial import Trial

_SECRET = re.compile(
    r"(^|_)(token|secret|passwd|password|passphrase|credentials?|(api|auth|access|private|secret)_?key)$"
)


def refuse_secrets(trial: Trial) -> None:
    """Refuses a trial with a setting that is a secret, judging by the setting's name.

    run.json, Tune's files, checkpoints and W&B hold the settings, and are meant to be shared. If
    they left a secret out, nobody could resume the run.

    Raises:
        ConfigError: Names the setting and an alternative, never the value.
    """
    for key in secret_keys({**trial.config, **trial.env_options}):
        raise ConfigError(
            f"key {shown(key)} looks like a secret, and the run's files would hold it, W&B too. "
            "Leave it out, and let the environment read it from an environment variable"
        )


def secret_keys(settings: Any, before: str = "") -> Iterator[str]:
    """Dotted keys of non-empty strings whose name ends like a secret's, such as `api_key`."""
    if isinstance(settings, list | tuple):
        for entry in settings:
            yield from secret_keys(entry, before)
    if not isinstance(settings, Mapping):
        return
    for key, value in settings.items():
        dotted = f"{before}{key}"
        words = re.sub(r"(?<=[a-z])(?=[A-Z])|\W", "_", str(key)).lower()
        if isinstance(value, str) and value and _SECRET.search(words):
            yield dotted
        yield from secret_keys(value, f"{dotted}.")
