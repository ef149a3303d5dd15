"""The report's captions: how the numbers and lines of its figures and tables are computed."""

from __future__ import annotations

from rllib_ride.analysis.scores import REPETITIONS

_BANDS = (
    "Line and band: mean and sample standard deviation over seeds. At each frame the mean is over "
    "the seeds that have a value there, nothing is drawn beyond a seed's own first and last value, "
    "and the line is faint wherever that leaves out a seed that was started: one that stopped or "
    "failed before, still runs, or has ended no episode yet. A seed that was to end at a return "
    "and did keeps its last one. One seed has no band."
)
_FRAMES = "Frames are the transitions the agent chose."
CAPTIONS = {
    "curves": f"Extrinsic return, rolling mean over the last 100 episodes. {_BANDS} {_FRAMES}",
    "intrinsic": "Mean intrinsic reward of a frame while training, before its coefficient; the "
    f"axis is logarithmic where methods differ tenfold. {_BANDS} {_FRAMES}",
    "ablations": "RIDE and its ablations: extrinsic return, rolling mean over the last 100 "
    f"episodes. {_BANDS} {_FRAMES}",
    "scores": "Interquartile mean of the scores (the mean of the middle half of all runs and "
    "tasks), and the probability that a run of the first method scores above one of each other, "
    "ties counted half. Bars: 95% intervals by "
    f"{REPETITIONS} repetitions of a bootstrap stratified by task (rliable). No bar: one seed.",
}
SOLVED = (
    "Frames to solve: the first frame at which the mean over the last 100 episodes reaches the "
    "return in the column 'solved at', a mean over the seeds that did, with the first and the last "
    "of them. The paper names no threshold, and its figures' values are in no text: beside it "
    "stands what it says in words. The return is each seed's last one and 'frames' is where the "
    "seed is that has come least far: where seeds have not come equally far, compare the scores."
)
SCORED = (
    "A run's score is its return, mean over 100 episodes, at one frame for all runs of a task: the "
    "furthest that half the seeds of every method have reached, so that no method is compared at "
    "more training than another. Seeds that ended before 95% of it have no score, but for those "
    "that were to end at a return and did: they keep their last one. Nor have those that had not "
    "ended 100 episodes by then. 'all tasks' has the methods "
    "with scores in more than half of the tasks whose returns are between -1 and 1, and of these "
    "tasks those in which each of them has scores; of each the same number of seeds."
)
LEFT_OUT = (
    "States visited in an episode (fig:number_visited_states_ablation) are not in curve.csv, so "
    "there is no curve of them here."
)
