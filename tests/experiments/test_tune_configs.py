"""Every shipped experiment: its origin, what its header promises, and that all of it builds."""

from __future__ import annotations

import re
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from rllib_ride.envs.catalog import PAPER_TASKS, PIXEL_TASKS
from rllib_ride.experiments.paper import origin
from rllib_ride.experiments.plan import PlannedTrial, plan
from rllib_ride.experiments.schema import load_spec
from rllib_ride.experiments.trial import expand
from rllib_ride.rllib.settings import IntrinsicSettings

FILES = sorted((Path(__file__).parents[2] / "tune_configs").glob("*.yaml"))
BY_NAME = {path.stem: path for path in FILES}
NEEDS = {task.id: task.extra for task in PIXEL_TASKS}
MODULES = {"vizdoom": "vizdoom", "mario": "gym_super_mario_bros"}
DOCS = Path(__file__).parents[2] / "docs" / "experiments.md"

# The paper's LaTeX labels, except its diagram of RIDE and a picture of a level.
FIGURES_AND_TABLES = (
    "fig:ablations",
    "fig:all_mario_doom",
    "fig:fixed_seed_obstructed",
    "fig:intrinsic_reward_heatmaps_n12s10",
    "fig:intrinsic_reward_heatmaps_n7s4",
    "fig:intrinsic_reward_heatmaps_obstructed",
    "fig:intrinsic_reward_training",
    "fig:minigrid",
    "fig:noreward_heatmaps_fixseed_anyseed",
    "fig:number_visited_states_ablation",
    "fig:obstacles",
    "fig:state_visitation_heatmaps",
    "fig:walls",
    "tab:hp",
    "tab:intrinsic_reward_n12s10",
    "tab:intrinsic_reward_n7s4",
    "tab:intrinsic_reward_obstructed",
    "tab:walls",
)

every_file = pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)


@cache
def planned(name: str) -> list[PlannedTrial]:
    """All trials of a file, each with its config built; skips if its game is not installed."""
    path = BY_NAME[name]
    for env in load_spec(path).env:
        if extra := NEEDS.get(env.id):
            pytest.importorskip(MODULES[extra], reason=f"needs rllib-ride[{extra}]")
    return plan(path)


@every_file
def test_every_trial_builds(path):
    entries = planned(path.stem)

    for entry in entries:
        assert entry.config.env == entry.trial.env
        assert entry.config.env_config == entry.trial.env_options
        assert entry.config.seed == entry.trial.seed
        assert IntrinsicSettings.of(entry.config).method == entry.trial.method
        assert entry.resources == {"CPU": 1.0}  # "one core each"
    assert len(entries) == len({entry.trial.name for entry in entries})


@every_file
def test_it_opens_with_its_figure_and_is_named_as_its_file(path):
    assert re.match(r"(fig|tab|sec):\w+", origin(path))
    assert origin(path).endswith(".")
    assert load_spec(path).experiment == path.stem


@every_file
def test_its_arithmetic_is_that_of_its_trials(path):
    spec = load_spec(path)
    trials = expand(spec)
    text = header(path)

    counts = re.search(
        r"Trials: (\d+) envs? x (\d+) methods? x (\d+) seeds?(?: x (\d+) grid points)? = (\d+),",
        text,
    )
    assert counts, text
    *factors, product = (int(group) for group in counts.groups("1"))
    points = len(trials) // (len(spec.env) * len(spec.method) * len(spec.seed))
    assert factors == [len(spec.env), len(spec.method), len(spec.seed), points]
    assert product == len(trials)

    sums = re.search(r"Frames: (.+) = (\S+)\.$", text)
    assert sums, text
    terms = [term.split(" x ") for term in sums[1].split(" + ")]
    assert {float(frames): int(number) for number, frames in terms} == Counter(
        trial.frames for trial in trials
    )
    assert float(sums[2]) == sum(trial.frames for trial in trials)


def header(path: Path) -> str:
    """The comment at the top of a file as one line."""
    lines = path.read_text(encoding="utf-8").splitlines()
    comment = lines[: next(i for i, line in enumerate(lines) if not line.startswith("#"))]
    return " ".join(line.lstrip("# ").strip() for line in comment)


def test_every_task_of_the_paper_is_trained_on():
    trained = {(env.id, *env.options.items()) for path in FILES for env in load_spec(path).env}
    tested_only = {"MiniGrid-MultiRoomHeldOutColors-N7-S4-v0"}

    for task in (*PAPER_TASKS, *PIXEL_TASKS):
        if task.id not in tested_only:
            assert (task.id, *task.options.items()) in trained


def test_every_label_is_one_of_the_papers_and_all_have_a_file_or_a_line_in_the_docs():
    texts = [path.read_text(encoding="utf-8") for path in (*FILES, DOCS)]
    named = {label for text in texts for label in re.findall(r"\b(?:fig|tab|sec):[\w.]*\w", text)}

    assert named == {*FIGURES_AND_TABLES, "sec:appendix.hps", "sec:appendix.insights"}


def test_a_task_alone_is_its_part_of_minigrid_all():
    whole = {(t.env, t.method, t.seed): t for t in expand(load_spec(BY_NAME["minigrid_all"]))}
    alone = {
        (t.env, t.method, t.seed): t
        for name in BY_NAME
        if name == "noisy_tv" or name.startswith("minigrid_")
        if name not in ("minigrid_all", "minigrid_tuned", "minigrid_ppo")
        for t in expand(load_spec(BY_NAME[name]))
    }

    assert whole.keys() == alone.keys() and len(whole) == 200
    for key, trial in whole.items():
        assert alone[key].to_dict() == {**trial.to_dict(), "experiment": alone[key].experiment}


@pytest.mark.parametrize(
    ("name", "method", "coef", "entropy"),
    [
        ("minigrid_multiroom_n7s4", "ride", 0.1, 0.0005),
        ("noisy_tv", "ride", 0.1, 0.0005),
        ("minigrid_multiroom_n10s4", "ride", 0.1, 0.0005),
        ("minigrid_keycorridor_s3r3", "ride", 0.1, 0.0005),
        ("minigrid_multiroom_n7s8", "ride", 0.5, 0.001),
        ("minigrid_multiroom_n10s10", "ride", 0.5, 0.001),
        ("minigrid_multiroom_n12s10", "ride", 0.5, 0.001),
        ("minigrid_obstructed_maze_2dlh", "ride", 0.5, 0.001),
        ("singleton_obstructed_maze", "ride", 0.5, 0.001),
        ("no_extrinsic_procedural", "ride", 0.1, 0.0005),
        ("vizdoom", "ride", 0.1, 0.0005),
        ("vizdoom", "icm", 0.1, 0.0001),
        ("mario", "rnd", 0.1, 0.0001),
        ("mario_intrinsic_only", "count", 0.005, 0.0001),
        ("dynamic_obstacles", "count", 0.005, 0.0001),
        ("color_generalization", "icm", 0.1, 0.0001),
    ],
)
def test_coefficients_of_bonus_and_entropy(name, method, coef, entropy):
    """Appendix A.2 of the paper; RIDE's on other than its eight tasks are this project's choice."""
    entries = [entry for entry in planned(name) if entry.trial.method == method]

    assert entries
    for entry in entries:
        settings = IntrinsicSettings.of(entry.config)
        assert (settings.coef, entry.config.entropy_coeff) == (coef, entropy)


@every_file
def test_without_extrinsic_reward_where_the_paper_has_none(path):
    without = path.stem.startswith("no_extrinsic") or path.stem == "mario_intrinsic_only"

    for entry in planned(path.stem):
        assert IntrinsicSettings.of(entry.config).extrinsic_reward is not without


def test_the_grid_over_training_sets_rate_batch_and_unroll_together():
    """Appendix A.2: rate in [1e-4, 5e-4, 1e-3] annealed to 0, batch in [8, 32], four unrolls."""
    entries = [e for e in planned("grid_search_training") if e.trial.method == "rnd"]

    points = {
        (
            e.config.lr[0][1],
            e.config.num_envs_per_env_runner,
            e.config.rollout_fragment_length,
        ): e
        for e in entries
    }
    assert len(points) == len(entries) == 24
    assert set(points) == {
        (lr, batch, unroll)
        for lr in (0.0001, 0.0005, 0.001)
        for batch in (8, 32)
        for unroll in (20, 40, 100, 200)
    }
    for (lr, batch, unroll), entry in points.items():
        assert entry.config.lr == [[0, lr], [30_000_000, 0.0]]
        assert entry.config.train_batch_size_per_learner == batch * unroll
        assert entry.trial.name == (
            f"rnd_MultiRoom-N7-S4_lr={lr}_num_envs={batch}_unroll_length={unroll}_seed1"
        )


def test_the_grid_over_exploration():
    """Appendix A.2: seven coefficients of the bonus, six of the entropy, for every method."""
    entries = planned("grid_search_exploration")

    for method in ("ride", "icm", "rnd", "count"):
        points = [
            (IntrinsicSettings.of(e.config).coef, e.config.entropy_coeff)
            for e in entries
            if e.trial.method == method
        ]
        assert sorted(points) == sorted(
            (coef, entropy)
            for coef in (1.0, 0.5, 0.1, 0.05, 0.01, 0.005, 0.001)
            for entropy in (0.01, 0.005, 0.001, 0.0005, 0.0001, 0.00005)
        )
