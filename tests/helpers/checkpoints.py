"""Checkpoints of algorithms that have learned nothing."""

from __future__ import annotations

from pathlib import Path

from rllib_ride.rllib.presets import make_config


def write_untrained(
    folder: Path, method: str, env: str, env_options: dict | None = None, counts: str = "full"
) -> Path:
    """Saves an algorithm as a trial does, and returns the checkpoint's folder."""
    config = make_config(
        preset="paper",
        method=method,
        env=env,
        env_options=env_options or {},
        frames=1e4,
        seed=1,
        intrinsic={"counts": counts},
    )
    algo = config.env_runners(num_envs_per_env_runner=1).build_algo()
    algo.save_to_path(str(folder))
    algo.stop()
    return folder
