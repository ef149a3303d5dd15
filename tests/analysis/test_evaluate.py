"""Evaluation over whole episodes, none of them favoured."""

from __future__ import annotations

import numpy as np
import pytest
from ray.rllib.core.rl_module.rl_module import RLModuleSpec

from helpers import envs
from rllib_ride.analysis.evaluate import _shares, evaluate
from rllib_ride.analysis.policy import Policy, load_policy
from rllib_ride.rllib.policy import RecurrentPolicy


@pytest.fixture(scope="module")
def policy():
    env = envs.Clockwork()
    module = RLModuleSpec(
        module_class=RecurrentPolicy,
        observation_space=env.single_observation_space,
        action_space=env.single_action_space,
    ).build()
    module.eval()
    return Policy(module=module, env=envs.ENV_ID, env_options={}, frames_trained=7)


@pytest.mark.parametrize("episodes", [1, 5, 32, 40])
def test_each_environment_plays_its_share_whether_its_episodes_are_short_or_long(policy, episodes):
    num_envs = min(episodes, 32)
    env_of_episode = np.concatenate([np.arange(num_envs), np.arange(episodes - num_envs)])
    lengths = 2 + 3 * env_of_episode  # Clockwork: environment n, episodes of 2 + 3 n steps
    returns = lengths * (lengths + 1) / 2 / 1000

    scores = evaluate(policy, episodes=episodes, seed=0, greedy=False)

    assert scores.episodes == episodes
    assert scores.length_mean == pytest.approx(lengths.mean())
    assert scores.return_mean == pytest.approx(returns.mean())
    assert scores.return_std == pytest.approx(returns.std())
    assert scores.success_rate == 1.0
    assert scores.frames_trained == 7


def test_shares():
    assert _shares(70, 32).tolist() == [3] * 6 + [2] * 26
    assert _shares(3, 3).tolist() == [1, 1, 1]


def test_the_seed_decides_and_greedy_is_another_policy(policy):
    on_a_level = Policy(policy.module, "MiniGrid-Empty-Random-5x5-v0", {}, 0)

    def play(seed, greedy):
        return evaluate(on_a_level, episodes=20, seed=seed, greedy=greedy)

    assert play(1, greedy=False) == play(1, greedy=False)
    assert play(1, greedy=False) != play(2, greedy=False)
    assert play(1, greedy=False) != play(1, greedy=True)


@pytest.mark.parametrize(
    "files", [[], ["learner_group/learner/rl_module/default_policy/metadata.json"]]
)
def test_a_folder_that_is_no_checkpoint_is_refused(tmp_path, files):
    for name in files:
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_text("{}")

    with pytest.raises(ValueError, match="checkpoint") as error:
        load_policy(tmp_path)
    assert str(error.value).startswith(str(tmp_path))
