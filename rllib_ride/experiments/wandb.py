"""Logging to Weights & Biases, through Ray's own callback."""

from __future__ import annotations

import importlib.util
import os

from ray.tune import Callback

from rllib_ride.experiments.errors import ConfigError


def wandb_callbacks(mode: str, project: str) -> list[Callback]:
    """The callback that logs each trial as a W&B run; none where `mode` is `off`.

    Args:
        mode: `off`, `offline` (files for `wandb sync`) or `online`.
        project: The W&B project that the runs go to.

    Raises:
        ConfigError: W&B is not installed.
    """
    if mode == "off":
        return []
    if importlib.util.find_spec("wandb") is None:
        raise ConfigError(
            f"--wandb {mode} needs the package wandb: pip install 'rllib-ride[wandb]'"
        )
    os.environ["WANDB_MODE"] = mode
    from ray.air.integrations.wandb import WandbLoggerCallback

    return [WandbLoggerCallback(project=project)]
