"""Analyses checkpoints in one level: heatmaps, table and film."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rllib_ride.analysis.actions_table import PAPER, actions_table, kinds_table, to_markdown
from rllib_ride.analysis.aggregate import rooms_entered
from rllib_ride.analysis.episode_picture import write_episode_picture
from rllib_ride.analysis.episode_record import Recording
from rllib_ride.analysis.film import write_film
from rllib_ride.analysis.finish import save_figure
from rllib_ride.analysis.heatmaps import draw_intrinsic, draw_visits
from rllib_ride.analysis.palette import sort_key
from rllib_ride.analysis.record import Agent, load_agent, record


@dataclass(frozen=True)
class Plan:
    """The agents of an analysis and the level in which they play.

    Attributes:
        agents: By label, all in one environment.
        env: The environment's id.
        seed: Of the level and the actions.
        episodes: Number of episodes per agent.
        greedy: Whether they take the most likely action.
    """

    agents: Mapping[str, Agent]
    env: str
    seed: int
    episodes: int
    greedy: bool

    @property
    def title(self) -> str:
        """The level, and how it was played."""
        how = "likeliest actions" if self.greedy else "sampled actions"
        number = "1 episode" if self.episodes == 1 else f"{self.episodes} episodes"
        return f"{self.env}, level of seed {self.seed}\n{number}, {how}"


def plan_analysis(
    checkpoints: Sequence[Path],
    *,
    env: str | None,
    seed: int | None,
    episodes: int,
    greedy: bool,
) -> Plan:
    """Loads the checkpoints and checks that they can play in one level.

    Args:
        checkpoints: Folders that trials wrote.
        env: Environment to play in; None: the one they were trained in.
        seed: Of the level; None: the `singleton_seed` they were trained with, or else 0.
        episodes: Number of episodes per agent.
        greedy: Take the most likely action; otherwise sample, as in training.

    Raises:
        ValueError: A checkpoint is invalid, is given twice, was trained in another environment or
            singleton level than the others, or cannot play there.
    """
    places = [checkpoint.resolve() for checkpoint in checkpoints]
    if twice := [
        c for c, place in zip(checkpoints, places, strict=True) if places.count(place) > 1
    ]:
        raise ValueError(f"{twice[0]} is given {len(twice)} times, expected each checkpoint once")
    agents = [load_agent(checkpoint, env=env) for checkpoint in checkpoints]
    first = agents[0].policy
    for checkpoint, agent in zip(checkpoints[1:], agents[1:], strict=True):
        if agent.policy.env != first.env:
            raise ValueError(
                f"{checkpoint} was trained in {agent.policy.env}, and {checkpoints[0]} in "
                f"{first.env}: say with --env in which of them to play"
            )
    if seed is None:
        own = {agent.policy.env_options.get("singleton_seed") for agent in agents}
        if len(own) > 1:
            raise ValueError(
                "the checkpoints were trained with different singleton_seed "
                f"{sorted(own, key=str)}: say with --seed in which level to play"
            )
        seed = own.pop() or 0
    labels = labels_of(checkpoints, [agent.method for agent in agents])
    order = sorted(range(len(agents)), key=lambda i: sort_key(labels[i]))
    return Plan(
        agents={labels[i]: agents[i] for i in order},
        env=first.env,
        seed=seed,
        episodes=episodes,
        greedy=greedy,
    )


def labels_of(checkpoints: Sequence[Path], methods: Sequence[str]) -> list[str]:
    """A unique label per checkpoint: its method, and if needed its trial, name or full path."""
    labels = list(methods)
    for more in (
        [f"{m} ({c.resolve().parent.name})" for c, m in zip(checkpoints, methods, strict=True)],
        [
            f"{m} ({c.resolve().parent.name}/{c.name})"
            for c, m in zip(checkpoints, methods, strict=True)
        ],
        [f"{m} ({c})" for c, m in zip(checkpoints, methods, strict=True)],
    ):
        labels = [
            longer if labels.count(label) > 1 else label
            for label, longer in zip(labels, more, strict=True)
        ]
    return labels


def analyze(plan: Plan, out: Path) -> dict[str, Any]:
    """Plays, and writes pictures, tables and films into the folder `out`.

    `visits.png` shows all agents. `intrinsic.png`, `actions.csv`, `actions.md`, `episode.png` and
    `episode.gif` (`episode_<label>.*` for several) show those with an intrinsic reward.

    Returns:
        The output of `rllib-ride analyze --json`: the level, the rooms, the table, the files.
    """
    recordings = {label: _recorded(label, agent, plan) for label, agent in plan.agents.items()}
    paid = {label: rec for label, rec in recordings.items() if rec.method != "none"}
    out.mkdir(parents=True, exist_ok=True)
    files = save_figure(draw_visits(recordings, plan.title), out / "visits")
    if paid:
        files += save_figure(draw_intrinsic(paid, plan.title), out / "intrinsic")
        files += _write_tables(paid, plan, out)
        files += _write_episodes(paid, plan, out)
    level = next(iter(recordings.values())).level
    return {
        "env": plan.env,
        "seed": plan.seed,
        "episodes": plan.episodes,
        "greedy": plan.greedy,
        "rooms": level.num_rooms,
        "paper_table": PAPER[plan.env].name if plan.env in PAPER else None,
        "checkpoints": [_summary(label, recording) for label, recording in recordings.items()],
        "actions": _records(actions_table(paid)) if paid else [],
        "kinds": _records(kinds_table(paid)) if paid else [],
        "files": [str(path) for path in files],
    }


def _recorded(label: str, agent: Agent, plan: Plan) -> Recording:
    print(f"{label}: playing {plan.episodes} episodes", file=sys.stderr)
    return record(agent, episodes=plan.episodes, seed=plan.seed, greedy=plan.greedy)


def _write_tables(paid: Mapping[str, Recording], plan: Plan, out: Path) -> list[Path]:
    csv, markdown = out / "actions.csv", out / "actions.md"
    actions_table(paid).to_csv(csv, index=False)
    about = f"{', '.join(plan.title.splitlines())}. {_training(plan, paid)}"
    markdown.write_text(to_markdown(paid, about), encoding="utf-8")
    return [csv, markdown]


def _training(plan: Plan, paid: Mapping[str, Recording]) -> str:
    """How long each agent was trained, and in which environment if it is not the plan's."""
    policies = {label: plan.agents[label].policy for label in paid}
    each = [
        f"{label} {policy.frames_trained:,}"
        + (f" (in {policy.trained_in})" if policy.trained_in != plan.env else "")
        for label, policy in policies.items()
    ]
    return f"Frames trained: {', '.join(each)}."


def _write_episodes(paid: Mapping[str, Recording], plan: Plan, out: Path) -> list[Path]:
    """Writes a picture and a film of one episode of each agent."""
    paths = []
    for label in paid:
        name = "episode" if len(paid) == 1 else f"episode_{_slug(label)}"
        episode = record(
            plan.agents[label], episodes=1, seed=plan.seed, greedy=plan.greedy, keep_grids=True
        )
        paths.append(write_episode_picture(episode, out / f"{name}.png"))
        paths.append(write_film(episode, out / f"{name}.gif"))
    return paths


def _slug(label: str) -> str:
    return re.sub(r"[^\w.-]+", "_", label).strip("_")


def _summary(label: str, recording: Recording) -> dict[str, Any]:
    rooms = rooms_entered(recording.episodes, recording.level.rooms)
    returns = [float(episode.rewards.sum()) for episode in recording.episodes]
    return {
        "label": label,
        "method": recording.method,
        "frames_trained": recording.frames_trained,
        "return_mean": sum(returns) / len(returns),
        "rooms_mean": float(rooms.mean()),
        "rooms_max": int(rooms.max()),
    }


def _records(table: Any) -> list[dict[str, Any]]:
    """The table's rows for JSON: None instead of NaN."""
    return table.astype(object).where(table.notna(), None).to_dict("records")
