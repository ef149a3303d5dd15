"""Keeps Ray's notices off the console, which shows one progress table."""

from __future__ import annotations

import logging
import os
import warnings


def quiet_ray() -> None:
    """Silences Ray here and in the processes that `ray.init` starts; errors still show."""
    os.environ.setdefault("RAY_AIR_NEW_OUTPUT", "0")
    os.environ.setdefault("RAY_TRAIN_ENABLE_V2_MIGRATION_WARNINGS", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    warnings.filterwarnings("ignore", category=DeprecationWarning)
    import ray.rllib  # noqa: F401 (sets the level of its own logger on import)
    from ray.util.debug import disable_log_once_globally

    # Whenever Tune saves its state, it calls `log_once` with the text of each metric's last ten
    # values. Ray would keep all these keys, and the driver's memory would grow forever.
    disable_log_once_globally()

    for name in ("ray", "ray.rllib", "ray.tune"):
        logging.getLogger(name).setLevel(logging.ERROR)
    # The runner reports a failed trial in one line; its traceback is in the trial's error.txt.
    controller = logging.getLogger("ray.tune.execution.tune_controller")
    controller.addFilter(lambda entry: not entry.getMessage().startswith("Trial task failed"))
