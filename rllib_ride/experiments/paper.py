"""What the RIDE paper (ICLR 2020) has on methods, tasks and experiments, by its LaTeX labels."""

from __future__ import annotations

from pathlib import Path

from rllib_ride.envs.registration import (
    KEY_CORRIDOR_ID,
    NOISY_TV_ID,
    OBSTRUCTED_MAZE_ID,
    multiroom_id,
)

METHODS = {
    "ride": "the paper's own; fig:minigrid, fig:all_mario_doom",
    "icm": "baseline; fig:minigrid, fig:all_mario_doom",
    "rnd": "baseline; fig:minigrid, fig:all_mario_doom",
    "count": "baseline; fig:minigrid",
    "ride_raw_observations": "variant; sec:appendix.insights",
    "ride_shared_embedding": "variant; sec:appendix.insights",
    "noveld": "not in the paper: Zhang et al., NeurIPS 2021",
    "e3b": "not in the paper: Henaff et al., NeurIPS 2022",
    "only_episodic_counts": "ablation; fig:ablations",
    "no_episodic_counts": "ablation; fig:ablations",
    "no_entropy_no_episodic_counts": "ablation; fig:ablations",
    "none": "IMPALA, no intrinsic reward; fig:minigrid, fig:all_mario_doom",
}

FRAMES = {
    multiroom_id(7, 4): 30_000_000,
    NOISY_TV_ID: 30_000_000,
    multiroom_id(7, 8): 30_000_000,
    multiroom_id(10, 4): 30_000_000,
    multiroom_id(10, 10): 100_000_000,
    multiroom_id(12, 10): 100_000_000,
    KEY_CORRIDOR_ID: 30_000_000,
    OBSTRUCTED_MAZE_ID: 100_000_000,
}
"""Frames of training by task, for `frames: paper`. They are the released code's; of these tasks,
the text only gives a total for MultiRoom-N12-S10: 100M (fig:state_visitation_heatmaps)."""


def origin(path: Path) -> str:
    """The figure or table named in the first line of an experiment's file, `# Paper: ...`."""
    with path.open(encoding="utf-8") as file:
        return file.readline().removeprefix("# Paper:").strip()
