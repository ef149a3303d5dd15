"""Keeps Ray's notices off the console, which shows one progress table."""

from __future__ import annotations

import logging
import os
import warnings


def quiet_ray() -> None:
    """Silences Ray in this process and in those that `ray.init` starts; errors still show."""
    os.environ.setdefault("RAY_AIR_NEW_OUTPUT", "0")
    os.environ.setdefault("RAY_TRAIN_ENABLE_V2_MIGRATION_WARNINGS", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    warnings.filterwarnings("ignore", category=DeprecationWarning)
    import ray.rllib  # noqa: F401 (sets the level of its own logger on import)
    from ray.util.debug import disable_log_once_globally

    # Each time that Tune saves its state it asks this of each metric's last ten values, as a text
    # of their own, and Ray would keep them all: a driver's memory that grows without end.
    disable_log_once_globally()

    for name in ("ray", "ray.rllib", "ray.tune"):
        logging.getLogger(name).setLevel(logging.ERROR)
    # The runner tells a failed trial in one line; its traceback is in the trial's error.txt.
    controller = logging.getLogger("ray.tune.execution.tune_controller")
    controller.addFilter(lambda entry: not entry.getMessage().startswith("Trial task failed"))
