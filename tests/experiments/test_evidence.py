"""results/commands.txt: every part of the evidence can be run from this clone."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from rllib_ride.verbs.arguments import planned_trials
from rllib_ride.verbs.run import add_parser

CLONE = Path(__file__).parents[2]
LINES = (CLONE / "results" / "commands.txt").read_text(encoding="utf-8").splitlines()
PARTS = [line.split() for line in LINES if not line.startswith("#")]


@pytest.mark.parametrize(
    ("part", "options"), [(p, o) for p, *o in PARTS], ids=lambda x: str(x)[:30]
)
def test_a_part_is_a_run_with_trials(monkeypatch, part, options):
    monkeypatch.chdir(CLONE)
    parser = argparse.ArgumentParser()
    add_parser(parser.add_subparsers())

    trials = planned_trials(parser.parse_args(["run", *options]))

    assert trials
    preset = "paper" if part.endswith("_paper") else "tuned"
    if part.startswith("ppo_"):
        preset = "tuned_ppo"
    assert {entry.trial.preset for entry in trials} == {preset}


def test_parts_have_names_of_their_own():
    names = [part for part, *_ in PARTS]

    assert len(set(names)) == len(names)
