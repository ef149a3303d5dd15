import re

import pytest

from rllib_ride.analysis import paper_claims
from rllib_ride.analysis.paper_claims import paper_says
from rllib_ride.analysis.tasks import MINIGRID_FIGURE
from rllib_ride.envs.catalog import PAPER_TASKS, PIXEL_TASKS
from rllib_ride.experiments.names import methods


def test_every_claim_is_of_a_method_and_task_there_are():
    tasks = {task.id for task in (*PAPER_TASKS, *PIXEL_TASKS)}
    claims = [
        *paper_claims._CLAIMS,
        *((m, MINIGRID_FIGURE[0]) for m in paper_claims._MINIGRID_CLAIMS),
    ]

    for method, task in claims:
        assert method in methods() and task in tasks
        assert re.search(r"\((fig|tab|sec):[\w.]+\)$", paper_says(method, task))


@pytest.mark.parametrize("env", MINIGRID_FIGURE)
def test_of_every_task_of_the_figure_there_is_a_word_on_ride_and_impala(env):
    assert "solves it" in paper_says("ride", env)
    assert "does not learn" in paper_says("none", env)


def test_a_claim_on_one_task_goes_before_one_on_all():
    assert "farthest room" in paper_says("ride", MINIGRID_FIGURE[5])
    assert "drawn to the ball" in paper_says("icm", MINIGRID_FIGURE[1])


def test_options_make_another_task_of_it():
    assert paper_says("ride", f"{MINIGRID_FIGURE[0]} (singleton_seed=1)") == ""
    assert "singleton" not in paper_says("count", MINIGRID_FIGURE[6])
    assert paper_says("unheard_of", MINIGRID_FIGURE[0]) == ""
