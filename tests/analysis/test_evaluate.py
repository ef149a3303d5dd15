"""Evaluation over whole episodes, without selection bias."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
import pytest
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.core.rl_module.rl_module import RLModuleSpec

import rllib_ride
from helpers import envs
from rllib_ride.analysis.evaluate import _Tally, evaluate
from rllib_ride.analysis.play import Moment, shares_of
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


class Thermostat(gym.Env):
    """Needs actions from 10 to 20, outside of the [-1, 1] in which a policy acts."""

    observation_space = gym.spaces.Box(-1.0, 1.0, (2,), np.float64)
    action_space = gym.spaces.Box(10.0, 20.0, (1,))

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self._left = 5
        return self.np_random.uniform(size=2), {}

    def step(self, action):
        assert self.action_space.contains(np.asarray(action)), action
        self._left -= 1
        return self.np_random.uniform(size=2), 1.0, self._left == 0, False, {}


gym.register("rllib_ride_test/Thermostat-v0", entry_point=Thermostat)


@pytest.mark.parametrize(
    ("env", "options"),
    [
        ("rllib_ride_test/Thermostat-v0", {}),  # an action in a box
        ("CartPole-v1", {}),  # takes one seed only
        ("MiniGrid-Empty-5x5-v0", {"observation": "dict", "max_steps": 9}),  # text among it
    ],
)
def test_what_a_runner_can_be_trained_on_can_be_evaluated(ray_session, tmp_path, env, options):
    config = PPOConfig().environment(env, env_config=options)
    config.env_runners(num_env_runners=0).learners(num_learners=0)
    algo = rllib_ride.add_intrinsic_reward(config, method="none").build_algo()
    algo.save_to_path(str(tmp_path))
    algo.stop()
    scores = evaluate(load_policy(tmp_path), episodes=3, seed=0, greedy=False)
    assert scores.episodes == 3 and scores.length_mean > 0
    assert (scores.states_visited_mean is None) == ("MiniGrid" not in env)


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
    assert scores.states_visited_mean == 3.0  # it goes round three
    assert scores.frames_trained == 7


def test_shares_of():
    assert shares_of(70, 32).tolist() == [3] * 6 + [2] * 26
    assert shares_of(3, 3).tolist() == [1, 1, 1]


def test_returns_lengths_and_different_states_are_of_the_episode_alone():
    yes, no = True, False
    tally = _Tally(2)
    steps = [  # keys, begins, rewards, ended, counted
        ([7, 1], [yes, yes], [0.0, 0.0], [no, no], [yes, yes]),
        ([8, 1], [no, no], [0.5, 0.0], [no, no], [yes, yes]),
        ([7, 2], [no, no], [0.25, -1.0], [yes, no], [yes, yes]),
        ([7, 3], [yes, no], [0.0, 0.0], [no, yes], [yes, yes]),
        ([7, 1], [no, yes], [0.0, 0.0], [yes, no], [yes, no]),
        ([9, 2], [yes, no], [0.0, 1.0], [no, yes], [no, no]),
    ]
    for keys, begins, rewards, ended, counted in steps:
        infos = {"state_key": np.array(keys, np.uint64)}
        arrays = (np.array(x) for x in (begins, np.zeros(2), rewards, ended, counted))
        tally.add(Moment(None, infos, *arrays))

    assert tally.ended == [(0.75, 2, True, 2), (-1.0, 3, False, 3), (0.0, 1, False, 1)]


def test_of_a_game_with_a_flag_success_is_the_flag():
    tally, yes = _Tally(2), np.ones(2, bool)
    tally.add(Moment(None, {}, yes, np.zeros(2), np.zeros(2), ~yes, yes))
    infos = {"flag_get": np.array([False, True])}
    tally.add(Moment(None, infos, ~yes, np.zeros(2), np.array([30.0, 20.0]), yes, yes))

    assert [success for _, _, success, _ in tally.ended] == [False, True]
    assert all(np.isnan(states) for *_, states in tally.ended)


def test_states_visited_are_those_of_a_slow_oracle(policy):
    on_a_level = Policy(policy.module, "MiniGrid-MultiRoom-N2-S4-v0", {}, 0)
    seen: dict[int, list[set]] = {n: [] for n in range(5)}

    def watch(env):
        """Records the grid with the agent, for each state of each environment's episodes."""
        reset, step = env.reset, env.step

        def note(begins):
            for n, grid in enumerate(env.full_grids()):
                if begins[n]:
                    seen[n].append(set())
                seen[n][-1].add(grid.tobytes())

        def watched_reset(**kwargs):
            result = reset(**kwargs)
            note([True] * 5)
            return result

        def watched_step(actions):
            ended = env._ended.copy()
            result = step(actions)
            note(ended)
            return result

        env.reset, env.step = watched_reset, watched_step
        return env

    class Watched(Policy):
        def make_env(self, num_envs):
            return watch(super().make_env(num_envs))

    scores = evaluate(Watched(**vars(on_a_level)), episodes=5, seed=3, greedy=False)

    assert scores.states_visited_mean == pytest.approx(np.mean([len(seen[n][0]) for n in seen]))
    assert scores.states_visited_mean < scores.length_mean


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


def test_a_policy_plays_with_held_out_colours_what_it_has_seen_without(ray_session, tmp_path):
    options = {"observation": "dict", "colors": ["red"]}
    config = PPOConfig().environment("MiniGrid-MultiRoomColors-N7-S4-v0", env_config=options)
    config.env_runners(num_env_runners=0).learners(num_learners=0)
    algo = rllib_ride.add_intrinsic_reward(config, method="none").build_algo()
    algo.save_to_path(str(tmp_path))
    algo.stop()

    policy = load_policy(tmp_path, env="MiniGrid-MultiRoomHeldOutColors-N7-S4-v0")

    assert policy.trained_in == "MiniGrid-MultiRoomColors-N7-S4-v0"
    assert policy.env_options == {"observation": "dict"}  # and none of the training's colours
    assert load_policy(tmp_path).env_options == options
    assert evaluate(policy, episodes=2, seed=0, greedy=True).episodes == 2
    with pytest.raises(ValueError, match="CartPole-v1 has the observation space"):
        load_policy(tmp_path, env="CartPole-v1")
