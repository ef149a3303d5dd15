"""Every method on IMPALA, APPO and PPO, with every kind of policy and space: it trains at all.

Each combination makes a few updates; other tests compare the results with oracles.
"""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from ray.rllib.algorithms.algorithm import Algorithm
from ray.rllib.algorithms.algorithm_config import AlgorithmConfig
from ray.rllib.algorithms.appo import APPOConfig
from ray.rllib.algorithms.impala import IMPALAConfig
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.connectors.env_to_module import FlattenObservations
from ray.rllib.core import COMPONENT_RL_MODULE, DEFAULT_MODULE_ID
from ray.rllib.core.rl_module.default_model_config import DefaultModelConfig

import rllib_ride
from rllib_ride.rllib.policy import RecurrentPolicy
from rllib_ride.rllib.settings import INTRINSIC_MODULE_ID

ALGORITHMS = {"impala": IMPALAConfig, "appo": APPOConfig, "ppo": PPOConfig}
MINIGRID = "MiniGrid-MultiRoom-N2-S4-v0"
METHODS = [name for name in rllib_ride.methods() if name != "none"]
UNTRAINED = ("count", "only_episodic_counts", "ride_raw_observations")


class Pictures(gym.Env):
    """Random float images, as RLlib's own convolutions need them."""

    observation_space = gym.spaces.Box(0.0, 1.0, (7, 7, 3), np.float32)
    action_space = gym.spaces.Discrete(4)

    def __init__(self, config: Any = None) -> None:
        self._left = 0

    def reset(self, *, seed: Any = None, options: Any = None) -> tuple[np.ndarray, dict]:
        super().reset(seed=seed)
        self._left = int(self.np_random.integers(1, 30))
        return self._look(), {}

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict]:
        self._left -= 1
        return self._look(), 0.5, self._left <= 0, False, {}

    def _look(self) -> np.ndarray:
        return self.np_random.random((7, 7, 3), np.float32)


class Doubles(gym.Env):
    """Observes float64, as MuJoCo's environments do."""

    observation_space = gym.spaces.Box(-np.inf, np.inf, (3,), np.float64)
    action_space = gym.spaces.Discrete(2)

    def __init__(self, config: Any = None) -> None:
        self._left = 0

    def reset(self, *, seed: Any = None, options: Any = None) -> tuple[np.ndarray, dict]:
        super().reset(seed=seed)
        self._left = 9
        return self.np_random.normal(size=3), {}

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict]:
        self._left -= 1
        return self.np_random.normal(size=3), 0.1, False, self._left <= 0, {}


class Masked(gym.Env):
    """MiniGrid's Dict with an action mask next to the image; a forbidden action is an error."""

    observation_space = gym.spaces.Dict(
        {
            "image": gym.spaces.Box(0, 255, (7, 7, 3), np.uint8),
            "direction": gym.spaces.Discrete(4),
            "mission": gym.spaces.Text(20),
            "action_mask": gym.spaces.Box(0, 1, (7,), np.int8),
        }
    )
    action_space = gym.spaces.Discrete(7)

    def __init__(self, config: Any = None) -> None:
        self._env = gym.make(MINIGRID)

    def reset(self, *, seed: Any = None, options: Any = None) -> tuple[dict, dict]:
        super().reset(seed=seed)
        obs, info = self._env.reset(seed=seed)
        return self._masked(obs), info

    def step(self, action: Any) -> tuple[dict, Any, bool, bool, dict]:
        assert self._mask[action], f"action {action} is forbidden"
        obs, *rest = self._env.step(action)
        return (self._masked(obs), *rest)

    def _masked(self, obs: dict) -> dict:
        self._mask = np.ones(7, np.int8)
        self._mask[self.np_random.integers(7, size=3)] = 0
        return {**obs, "mission": "get to the goal", "action_mask": self._mask}


def config(
    algorithm: str,
    env: Any = MINIGRID,
    *,
    model: DefaultModelConfig | None = None,
    method: str = "ride",
    flatten: bool = False,
    **settings: Any,
) -> AlgorithmConfig:
    """Four environments and a few dozen steps per update."""
    made = ALGORITHMS[algorithm]().environment(env)
    made.env_runners(num_env_runners=0, num_envs_per_env_runner=4)
    made.learners(num_learners=0)
    if algorithm == "ppo":
        made.env_runners(rollout_fragment_length=30)
        made.training(train_batch_size_per_learner=120, minibatch_size=40, num_epochs=2)
    else:
        made.env_runners(rollout_fragment_length=10)
        made.training(train_batch_size_per_learner=40)
    made.reporting(min_time_s_per_iteration=0, min_sample_timesteps_per_iteration=200)
    if model is not None:
        made.rl_module(model_config=model)
    if flatten:
        made.env_runners(env_to_module_connector=lambda *args, **kwargs: FlattenObservations())
    return rllib_ride.add_intrinsic_reward(made, method=method, **settings)


def module_state(algo: Algorithm, module_id: str) -> dict[str, np.ndarray]:
    state = algo.learner_group.get_state()["learner"][COMPONENT_RL_MODULE][module_id]
    return {name: np.array(value) for name, value in state.items()}


def check_learns(algo: Algorithm) -> dict[str, Any]:
    """Trains one iteration: a finite positive bonus, and every network moves; returns metrics."""
    before = {mid: module_state(algo, mid) for mid in (DEFAULT_MODULE_ID, INTRINSIC_MODULE_ID)}
    metrics = algo.train()["learners"]
    assert np.isfinite(metrics[DEFAULT_MODULE_ID]["total_loss"])
    assert metrics[INTRINSIC_MODULE_ID]["intrinsic_reward_mean"] > 0
    for module_id, state in before.items():
        after = module_state(algo, module_id)
        for name, value in state.items():
            if name.endswith("weight") and "target" not in name and "_old_" not in name:
                assert (after[name] != value).any(), name
    return metrics[INTRINSIC_MODULE_ID]


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("method", METHODS)
def test_every_method_with_every_algorithm(build: Any, method: str, algorithm: str) -> None:
    algo = build(config(algorithm, method=method))
    check_learns(algo)
    module = algo.learner_group._learner.module[INTRINSIC_MODULE_ID]
    assert any(p.requires_grad for p in module.parameters()) == (method not in UNTRAINED)


LSTM = DefaultModelConfig(use_lstm=True, max_seq_len=8)
CONVOLUTIONS = {"conv_filters": [[8, 3, 2], [8, 3, 2]]}
CASES: dict[str, dict[str, Any]] = {
    "a vector of float64": {"env": Doubles},
    "an image, made a vector": {"env": Pictures, "flatten": True},
    "a vector": {"env": "CartPole-v1"},
    "a vector, LSTM": {"env": "CartPole-v1", "model": LSTM},
    "an action in a box": {"env": "Pendulum-v1"},
    "an image": {"env": Pictures, "model": DefaultModelConfig(**CONVOLUTIONS)},
    "an image, LSTM": {
        "env": Pictures,
        "model": DefaultModelConfig(use_lstm=True, max_seq_len=8, **CONVOLUTIONS),
    },
    "an image, the paper's policy": {"env": Pictures},
    "a dict with a mask": {"env": Masked},
    "a number, made a vector": {"env": "Taxi-v3", "flatten": True},
    "a vector, LSTM, RLlib's runner": {"env": "CartPole-v1", "model": LSTM, "flatten": True},
}


@pytest.mark.filterwarnings("ignore:the config has env_to_module_connector:UserWarning")
@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("case", CASES)
def test_every_space_and_policy_with_every_algorithm(build: Any, case: str, algorithm: str) -> None:
    check_learns(build(config(algorithm, **CASES[case])))


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_the_environments_reward_can_be_left_out(build: Any, algorithm: str) -> None:
    """The reward of 0.5 a step is logged, but the policy learns from the bonus: values stay."""
    losses = {}
    for extrinsic in (True, False):
        algo = build(
            config(algorithm, Pictures, coef=0.0, reward_clip=None, extrinsic_reward=extrinsic)
        )
        for _ in range(3):
            result = algo.train()
        assert result["env_runners"]["episode_return_mean"] > 0.4
        policy: Any = algo.learner_group._learner.module[DEFAULT_MODULE_ID]
        assert isinstance(policy, RecurrentPolicy)
        losses[extrinsic] = result["learners"][DEFAULT_MODULE_ID]["vf_loss"]
    assert losses[False] < 0.5 * losses[True]


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_rllibs_evaluation_plays_whole_episodes(build: Any, algorithm: str) -> None:
    made = config(algorithm, "CartPole-v1")
    made.evaluation(evaluation_interval=1, evaluation_duration=3, evaluation_num_env_runners=0)
    evaluated = build(made).train()["evaluation"]["env_runners"]
    assert evaluated["num_episodes"] >= 3 and evaluated["episode_return_mean"] > 1


def test_ppo_samples_what_it_is_asked_for(build: Any) -> None:
    """Resets are not transitions; the runner fills the gap without sampling another round."""
    algo = build(config("ppo", "CartPole-v1"))
    runner: Any = algo.env_runner
    for _ in range(5):
        episodes = runner.sample()
        assert 120 <= sum(map(len, episodes)) < 124


def test_a_minibatch_less_than_a_row_is_refused(build: Any) -> None:
    made = config("ppo", "CartPole-v1", model=LSTM)
    made.training(minibatch_size=6)
    with pytest.raises(ValueError, match="minibatch_size=6 is less than one row.*max_seq_len=8"):
        build(made)


def test_a_minibatch_of_one_row_has_it(build: Any) -> None:
    """49 rows of 51 steps, none cut by an episode's end: RLlib's quotient is just below 1 row."""
    model = DefaultModelConfig(use_lstm=True, max_seq_len=51)
    made = config("ppo", "Pendulum-v1", model=model)  # whose episodes have 200 steps
    made.env_runners(num_envs_per_env_runner=49, rollout_fragment_length=51)
    made.training(train_batch_size_per_learner=49 * 51, minibatch_size=51, num_epochs=1)
    metrics = build(made).train()["learners"]["default_policy"]
    assert np.isfinite(metrics["total_loss"])


@pytest.mark.parametrize("algorithm", ["appo", "ppo"])
def test_an_adapted_kl_coefficient_survives_a_checkpoint(
    build: Any, tmp_path: Any, algorithm: str
) -> None:
    algo, other = (build(config(algorithm).training(use_kl_loss=True)) for _ in range(2))
    coefficients = [
        a.learner_group._learner.curr_kl_coeffs_per_module[DEFAULT_MODULE_ID] for a in (algo, other)
    ]
    coefficients[0].data.fill_(0.0123)
    algo.save_to_path(str(tmp_path))
    assert coefficients[1] != coefficients[0]
    other.restore_from_path(str(tmp_path))
    assert coefficients[1] == coefficients[0]


def test_counts_of_all_training_survive_a_checkpoint(build: Any, tmp_path: Any) -> None:
    algo = build(config("ppo", method="count"))
    metrics = check_learns(algo)
    algo.save_to_path(str(tmp_path))
    other = build(config("ppo", method="count"))
    other.restore_from_path(str(tmp_path))
    tables = [
        a.learner_group._learner.module[INTRINSIC_MODULE_ID].method._visits for a in (algo, other)
    ]
    assert len(tables[1]) == len(tables[0]) > 0
    assert 0 < metrics["visited_states"] <= len(tables[0])  # the metric is a mean over updates
    again = other.train()["learners"][INTRINSIC_MODULE_ID]
    assert again["visited_states"] > metrics["visited_states"]
