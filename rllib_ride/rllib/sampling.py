"""Which of RLlib's sampling settings work with an intrinsic reward."""

from __future__ import annotations

from ray.rllib.algorithms.algorithm_config import AlgorithmConfig


def refuse_unsupported_sampling(config: AlgorithmConfig) -> None:
    """Refuses sampling settings that an intrinsic reward does not work with.

    Raises:
        ValueError: Names the setting.
    """
    # RLlib itself sets whole episodes for evaluation, where nothing is learned.
    if config.batch_mode != "truncate_episodes" and not config.in_evaluation:
        raise ValueError(
            f"batch_mode={config.batch_mode!r} is not supported with an intrinsic reward; "
            "'truncate_episodes' is"
        )
    if config.restart_failed_sub_environments:
        raise ValueError(
            "restart_failed_sub_environments is not supported with an intrinsic reward; "
            "restart_failed_env_runners is"
        )
