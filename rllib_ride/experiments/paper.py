"""Where each method and experiment stands in the paper, by its LaTeX label (RIDE, ICLR 2020)."""

from __future__ import annotations

from pathlib import Path

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


def origin(path: Path) -> str:
    """The figure or table that an experiment's file names in its first line, `# Paper: ...`."""
    with path.open(encoding="utf-8") as file:
        return file.readline().removeprefix("# Paper:").strip()
