"""What the paper (RIDE, ICLR 2020) says in words about each method on each task.

The paper does not give its figures' values in text, so results are compared with these sentences.
Each ends with the label of a figure, table or section of the paper.
"""

from __future__ import annotations

from rllib_ride.analysis.tasks import MINIGRID_FIGURE
from rllib_ride.envs.registration import (
    COLORS_ID,
    MARIO_ID,
    NOISY_TV_ID,
    OBSTRUCTED_MAZE_ID,
    VIZDOOM_IDS,
    multiroom_id,
)

_N7S4, _N12S10, _DOOM = multiroom_id(7, 4), multiroom_id(12, 10), VIZDOOM_IDS["sparse"]

# About one task.
_CLAIMS = {
    ("rnd", _N7S4): "solves it (sec:results_intrinsic)",
    ("icm", _N7S4): "solves it (sec:results_intrinsic)",
    ("icm", NOISY_TV_ID): "drops, drawn to the ball (fig:minigrid)",
    ("count", NOISY_TV_ID): "needs more time to train (fig:minigrid)",
    ("ride", _N12S10): "solves it, reaching the farthest room (fig:state_visitation_heatmaps)",
    ("count", _N12S10): "half of the maze explored after 100M (fig:state_visitation_heatmaps)",
    ("rnd", _N12S10): "not beyond the second room after 100M (fig:state_visitation_heatmaps)",
    ("icm", _N12S10): "not beyond the second room after 100M (fig:state_visitation_heatmaps)",
    ("ride", COLORS_ID): "learns it; 0.77 on held-out colours (tab:walls)",
    ("count", COLORS_ID): "learns it; 0.77 on held-out colours (tab:walls)",
    ("rnd", COLORS_ID): "0.76 on held-out colours (tab:walls)",
    ("icm", COLORS_ID): "one of five seeds converges; 0.73 on held-out colours (tab:walls)",
    ("none", COLORS_ID): "0.00 on held-out colours (tab:walls)",
    ("ride", _DOOM): "as well as ICM (fig:all_mario_doom)",
    ("icm", _DOOM): "success in every episode after about 60M (fig:all_mario_doom)",
    ("count", _DOOM): "fails (fig:all_mario_doom)",
    ("rnd", _DOOM): "fails (fig:all_mario_doom)",
    ("none", _DOOM): "fails (fig:all_mario_doom)",
    ("icm", MARIO_ID): "later and lower than the others with both rewards (fig:all_mario_doom)",
    ("none", MARIO_ID): "learns as good a policy as the others in 1M (fig:all_mario_doom)",
}
# About every task of fig:minigrid, unless there is a claim about the task above.
_MINIGRID_CLAIMS = {
    "ride": "solves it, in the fewest frames (fig:minigrid)",
    "none": "does not learn it (fig:minigrid)",
    "only_episodic_counts": "solves no task (fig:ablations)",
    "no_episodic_counts": (
        "solves the easier tasks in more frames than RIDE, fails on the hardest (fig:ablations)"
    ),
    "no_entropy_no_episodic_counts": "suboptimal, or fails (fig:ablations)",
    "ride_raw_observations": "solves no task (sec:appendix.insights)",
    "ride_shared_embedding": "ineffective (sec:appendix.insights)",
}
_SINGLETON_CLAIMS = dict.fromkeys(("count", "rnd", "none"), "solves it (fig:fixed_seed_obstructed)")


def paper_says(method: str, task: str) -> str:
    """What the paper says about `method` on `task`; empty if nothing.

    Args:
        method: Name of the method, without a variant.
        task: An environment with its options, as in `Run.task`.
    """
    env = task.partition(" (")[0]
    if task != env:  # with options it is another task
        is_singleton = env == OBSTRUCTED_MAZE_ID and "singleton_seed=" in task
        return _SINGLETON_CLAIMS.get(method, "") if is_singleton else ""
    if (method, env) in _CLAIMS:
        return _CLAIMS[method, env]
    if env.startswith("MiniGrid-Dynamic-Obstacles-") and method == "ride":
        return "learns it (fig:obstacles)"
    return _MINIGRID_CLAIMS.get(method, "") if env in MINIGRID_FIGURE else ""
