"""Where each method and task stands in the paper, by its LaTeX label (RIDE, ICLR 2020)."""

from __future__ import annotations

from pathlib import Path

METHODS = {
    "ride": "the paper's own; fig:minigrid, fig:all_mario_doom",
    "icm": "baseline; fig:minigrid, fig:all_mario_doom",
    "rnd": "baseline; fig:minigrid, fig:all_mario_doom",
    "count": "baseline; fig:minigrid",
    "only_episodic_counts": "ablation; fig:ablations",
    "no_episodic_counts": "ablation; fig:ablations",
    "no_entropy_no_episodic_counts": "ablation; fig:ablations",
    "none": "IMPALA, no intrinsic reward; fig:minigrid, fig:all_mario_doom",
}

ENVS = {
    "MiniGrid-MultiRoom-N7-S4-v0": "fig:minigrid, tab:intrinsic_reward_n7s4",
    "MiniGrid-MultiRoom-N7-S8-v0": "fig:minigrid",
    "MiniGrid-MultiRoom-N10-S4-v0": "fig:minigrid",
    "MiniGrid-MultiRoom-N10-S6-v0": "fig:noreward_heatmaps_fixseed_anyseed",
    "MiniGrid-MultiRoom-N10-S10-v0": "fig:minigrid",
    "MiniGrid-MultiRoom-N12-S10-v0": "fig:minigrid, tab:intrinsic_reward_n12s10",
    "MiniGrid-KeyCorridorS3R3-v0": "fig:minigrid",
    "MiniGrid-ObstructedMaze-2Dlh-v0": "fig:minigrid, tab:intrinsic_reward_obstructed",
}


def origin(path: Path) -> str:
    """The figure or table that an experiment's file names in its first line, `# Paper: ...`."""
    with path.open(encoding="utf-8") as file:
        return file.readline().removeprefix("# Paper:").strip()
