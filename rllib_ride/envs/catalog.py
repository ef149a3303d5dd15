"""The paper's tasks: what `rllib-ride list envs` shows."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from rllib_ride.envs.registration import (
    COLORS_ID,
    DYNAMIC_OBSTACLES,
    HELD_OUT_COLORS_ID,
    KEY_CORRIDOR_ID,
    MARIO_ID,
    NOISY_TV_ID,
    OBSTRUCTED_MAZE_ID,
    VIZDOOM_IDS,
    dynamic_obstacles_id,
    multiroom_id,
)


@dataclasses.dataclass(frozen=True)
class PaperTask:
    """An environment the paper trains on.

    Attributes:
        id: registered with Gymnasium.
        paper: labels of the paper's figures and tables that show it.
        max_steps: step limit of an episode, in game frames for a pixel task; None if the game ends
            by itself.
        options: the environment's options, besides its id.
        extra: the extra of the package `rllib-ride` that it needs.
    """

    id: str
    paper: tuple[str, ...]
    max_steps: int | None
    options: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    extra: str | None = None


# The paper does not say which level its singletons use; the authors' code has seed 1.
_SINGLETON = {"singleton_seed": 1}

PAPER_TASKS = (
    PaperTask(
        multiroom_id(7, 4),
        (
            "fig:minigrid",
            "fig:intrinsic_reward_heatmaps_n7s4",
            "tab:intrinsic_reward_n7s4",
        ),
        140,
    ),
    PaperTask(NOISY_TV_ID, ("fig:minigrid",), 140),
    PaperTask(multiroom_id(7, 8), ("fig:minigrid",), 140),
    PaperTask(multiroom_id(10, 4), ("fig:minigrid",), 200),
    PaperTask(multiroom_id(10, 10), ("fig:minigrid",), 200),
    PaperTask(
        multiroom_id(12, 10),
        (
            "fig:minigrid",
            "fig:number_visited_states_ablation",
            "fig:intrinsic_reward_training",
            "fig:state_visitation_heatmaps",
            "fig:intrinsic_reward_heatmaps_n12s10",
            "tab:intrinsic_reward_n12s10",
        ),
        240,
    ),
    PaperTask(KEY_CORRIDOR_ID, ("fig:minigrid",), 270),
    PaperTask(
        OBSTRUCTED_MAZE_ID,
        (
            "fig:minigrid",
            "fig:intrinsic_reward_heatmaps_obstructed",
            "tab:intrinsic_reward_obstructed",
        ),
        576,
    ),
    PaperTask(OBSTRUCTED_MAZE_ID, ("fig:fixed_seed_obstructed",), 576, options=_SINGLETON),
    # Without extrinsic reward, which is a setting of the learner.
    PaperTask(multiroom_id(10, 6), ("fig:noreward_heatmaps_fixseed_anyseed",), 200),
    PaperTask(
        multiroom_id(10, 6), ("fig:noreward_heatmaps_fixseed_anyseed",), 200, options=_SINGLETON
    ),
    PaperTask(COLORS_ID, ("fig:walls",), 140),
    PaperTask(HELD_OUT_COLORS_ID, ("tab:walls",), 140),
    *(
        PaperTask(dynamic_obstacles_id(size), ("fig:obstacles",), 4 * size**2)
        for size, _ in DYNAMIC_OBSTACLES
    ),
)

PIXEL_TASKS = (
    PaperTask(VIZDOOM_IDS["sparse"], ("fig:all_mario_doom",), 2100, extra="vizdoom"),
    PaperTask(MARIO_ID, ("fig:all_mario_doom",), None, extra="mario"),
)


def evaluation_options(env_id: str) -> dict[str, Any]:
    """The environment options to evaluate a policy with: no action repeat in the games."""
    return {"action_repeat": 1} if env_id in (MARIO_ID, *VIZDOOM_IDS.values()) else {}
