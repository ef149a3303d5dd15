"""Logging to Weights & Biases, through Ray's own callback."""

from __future__ import annotations

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
    from ray.air.integrations.wandb import WandbLoggerCallback

    os.environ["WANDB_MODE"] = mode
    try:
        return [WandbLoggerCallback(project=project)]
    except RuntimeError:  # Ray could not import it
        raise ConfigError(
            f"--wandb {mode} needs the package wandb: pip install 'rllib-ride[wandb]'"
        ) from None
