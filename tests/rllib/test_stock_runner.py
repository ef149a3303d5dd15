"""RLlib's own runner returns the same steps as the batched one, only slower."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from ray.rllib.algorithms.algorithm_config import AlgorithmConfig
from ray.rllib.algorithms.impala import IMPALAConfig
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.callbacks.callbacks import RLlibCallback
from ray.rllib.connectors.env_to_module import FlattenObservations
from ray.rllib.core import DEFAULT_MODULE_ID
from ray.rllib.core.columns import Columns
from ray.rllib.core.rl_module.rl_module import RLModuleSpec
from ray.rllib.env.single_agent_env_runner import SingleAgentEnvRunner
from ray.rllib.env.single_agent_episode import SingleAgentEpisode

import rllib_ride
from helpers import envs
from helpers.policies import (
    FeedForward,
    OwnChoice,
    RecurrentOwnChoice,
    StepCounter,
    UnknownChoice,
)
from rllib_ride.rllib.connectors import LearnerPipeline
from rllib_ride.rllib.env_runner import BatchedEnvRunner
from rllib_ride.rllib.episodes import pad_episodes, state_before
from rllib_ride.rllib.settings import (
    EPISODE_IDS,
    EPISODIC_COUNTS,
    STATE_KEYS,
    T_STARTED,
    IntrinsicSettings,
)
from rllib_ride.rllib.stock_runner import CountingEnvRunner

NUM_ENVS, STEPS, MAX_SEQ_LEN = 4, 40, 4
INITIAL_STATE = {"n": np.zeros(1, np.float32)}
RUNNERS = [BatchedEnvRunner, CountingEnvRunner]


def config(
    module: type[FeedForward] = StepCounter,
    *,
    fragment: int = 7,
    counts: str = "full",
    base: type[AlgorithmConfig] = IMPALAConfig,
) -> AlgorithmConfig:
    made = (
        base()
        .environment(envs.ENV_ID)
        .env_runners(
            num_env_runners=0, num_envs_per_env_runner=NUM_ENVS, rollout_fragment_length=fragment
        )
        .rl_module(
            rl_module_spec=RLModuleSpec(
                module_class=module, model_config={"max_seq_len": MAX_SEQ_LEN}
            )
        )
    )
    return rllib_ride.add_intrinsic_reward(made, method="rnd", counts=counts)


def sampled(cls: type[SingleAgentEnvRunner], made: AlgorithmConfig) -> list[SingleAgentEpisode]:
    """Enough fragments for every environment to make at least `STEPS` steps."""
    runner = cls(config=made, worker_index=0)
    pieces: list[SingleAgentEpisode] = []
    while min_steps(pieces) < STEPS:
        pieces += runner.sample()
    return pieces


def environment_of(piece: SingleAgentEpisode) -> int:
    return int(piece.get_observations(0)[0, 0, 1])


def min_steps(pieces: list[SingleAgentEpisode]) -> int:
    steps = np.zeros(NUM_ENVS, int)
    for piece in pieces:
        steps[environment_of(piece)] += len(piece)
    return int(steps.min())


def transitions(pieces: list[SingleAgentEpisode]) -> list[list[tuple[Any, ...]]]:
    """The first `STEPS` transitions of each environment, however they are cut into pieces."""
    found: list[list[tuple[Any, ...]]] = [[] for _ in range(NUM_ENVS)]
    for piece in pieces:
        obs, last = piece.get_observations(), len(piece) - 1
        for t in range(len(piece)):
            found[environment_of(piece)].append(
                (
                    piece.t_started + t,
                    obs[t].tobytes(),
                    int(piece.get_actions(t)),
                    round(float(piece.get_rewards(t)), 6),
                    obs[t + 1].tobytes(),
                    float(piece.get_extra_model_outputs(EPISODIC_COUNTS, t)),
                    int(piece.get_extra_model_outputs(STATE_KEYS, t)),
                    round(float(piece.get_extra_model_outputs(Columns.ACTION_LOGP, t)), 5),
                    piece.is_terminated and t == last,
                    piece.is_truncated and t == last,
                )
            )
    return [of_environment[:STEPS] for of_environment in found]


@pytest.mark.parametrize("module", [FeedForward, StepCounter])
@pytest.mark.parametrize(("fragment", "counts"), [(1, "full"), (7, "view"), (40, "full")])
def test_both_runners_give_the_same_transitions(
    module: type[FeedForward], fragment: int, counts: str
) -> None:
    made = config(module, fragment=fragment, counts=counts)
    batched, stock = (transitions(sampled(cls, made)) for cls in RUNNERS)
    assert batched == stock
    for n, of_environment in enumerate(batched):
        length = 2 + 3 * n
        steps = [t for t, *_ in of_environment]
        assert steps == [t % length for t in range(STEPS)]
        # Both policies choose actions by the step within the episode.
        assert [action for _, _, action, *_ in of_environment] == [t % 7 for t in steps]


@pytest.mark.parametrize("cls", RUNNERS)
@pytest.mark.parametrize(
    ("module", "base"),
    [
        (OwnChoice, IMPALAConfig),
        (RecurrentOwnChoice, IMPALAConfig),
        (RecurrentOwnChoice, PPOConfig),
    ],
)
def test_a_modules_own_actions_are_taken(
    cls: type[SingleAgentEnvRunner], module: type[FeedForward], base: type[AlgorithmConfig]
) -> None:
    for piece in sampled(cls, config(module, base=base)):
        assert set(piece.get_actions()) == {6}
        assert set(piece.get_extra_model_outputs(Columns.ACTION_LOGP)) == {-0.25}


@pytest.mark.parametrize("cls", RUNNERS)
@pytest.mark.parametrize(
    ("module", "base", "missing"),
    [
        (UnknownChoice, IMPALAConfig, "'action_logp'"),
        (UnknownChoice, PPOConfig, "'action_logp' and 'action_dist_inputs'"),
        (OwnChoice, PPOConfig, "'action_dist_inputs'"),
    ],
)
def test_what_the_loss_reads_must_come_with_them(
    cls: type[SingleAgentEnvRunner],
    module: type[FeedForward],
    base: type[AlgorithmConfig],
    missing: str,
) -> None:
    made = config(module, base=base)
    with pytest.raises(ValueError, match=f"returns 'actions' of its own without {missing}, which"):
        cls(config=made, worker_index=0).sample()
    made.in_evaluation = True  # nothing is learned from it
    assert cls(config=made, worker_index=0).sample()


@pytest.mark.parametrize("cls", RUNNERS)
@pytest.mark.parametrize("base", [IMPALAConfig, PPOConfig])
def test_pieces_begin_where_their_state_says(
    cls: type[SingleAgentEnvRunner], base: type[AlgorithmConfig]
) -> None:
    """The state counts the steps of an episode, so it must equal the step it is stored for."""
    made = config(base=base, fragment=9)
    pieces = sampled(cls, made)
    assert any(piece.t_started == 0 for piece in pieces)
    assert any(piece.t_started > 0 for piece in pieces)
    assert max(map(len, pieces)) <= 9
    for piece in pieces:
        # PPO's rows are short, and may begin wherever RLlib cuts a piece.
        for t in range(len(piece) if base is PPOConfig else 1):
            state = state_before(piece, t, INITIAL_STATE)
            np.testing.assert_array_equal(state["n"], [piece.t_started + t])


@pytest.mark.parametrize("cls", RUNNERS)
def test_an_impala_piece_has_the_state_it_starts_from_alone(
    cls: type[SingleAgentEnvRunner],
) -> None:
    """The state of each step would take several times the memory of the observations."""
    assert not any(
        Columns.STATE_IN in piece.extra_model_outputs for piece in sampled(cls, config())
    )


def test_the_learners_batch_holds_the_same_steps_from_both() -> None:
    """Only the cuts differ: RLlib's runner ends a fragment by the total number of steps."""
    rows = [
        pad_episodes(sampled(cls, config()), INITIAL_STATE, time_limit_is_terminal=False)
        for cls in RUNNERS
    ]
    steps = []
    for batch in rows:
        mask = batch[Columns.LOSS_MASK]
        assert mask.shape[1] == 7 + 1
        np.testing.assert_array_equal(batch[Columns.STATE_IN]["n"][:, 0], batch[T_STARTED])
        t = batch[T_STARTED][:, None] + np.arange(mask.shape[1])
        # Truncated ends and cuts are bootstrapped alike, so `truncateds` need not be equal.
        assert not (batch[Columns.TERMINATEDS] & batch[Columns.TRUNCATEDS]).any()
        of_environment = defaultdict(list)
        for row, step in np.argwhere(mask):
            of_environment[batch[Columns.OBS][row, step, 0, 0, 1]].append(
                (
                    t[row, step],
                    *batch[Columns.OBS][row, step, 0, 0],
                    *batch[Columns.OBS][row, step + 1, 0, 0],
                    batch[Columns.ACTIONS][row, step],
                    batch[Columns.REWARDS][row, step],
                    batch[Columns.TERMINATEDS][row, step],
                    batch[EPISODIC_COUNTS][row, step],
                    batch[STATE_KEYS][row, step],
                )
            )
        assert len(set(batch[EPISODE_IDS].tolist())) > NUM_ENVS
        steps.append({n: found[:STEPS] for n, found in of_environment.items()})
    assert steps[0] == steps[1]


@pytest.mark.parametrize("cls", RUNNERS)
def test_both_log_returns_and_their_squares(cls: type[SingleAgentEnvRunner]) -> None:
    """Without the squares an experiment would show no returns at all."""
    runner = cls(config=config(fragment=30), worker_index=0)
    ended = [piece for piece in runner.sample() if piece.is_done and piece.t_started == 0]
    returns = np.array([piece.get_return() for piece in ended])
    metrics = runner.get_metrics()
    assert metrics["episode_return_mean"].peek() == pytest.approx(returns.mean(), rel=1e-5)
    squares = metrics["episode_return_squared_mean"].peek()
    assert squares == pytest.approx((returns**2).mean(), rel=1e-5)


class Counting(RLlibCallback):
    """Counts its calls."""

    calls: dict[str, int] = defaultdict(int)

    def on_episode_created(self, **kwargs: Any) -> None:
        self.calls["created"] += 1

    def on_episode_start(self, **kwargs: Any) -> None:
        self.calls["start"] += 1

    def on_episode_step(self, **kwargs: Any) -> None:
        self.calls["step"] += 1

    def on_episode_end(self, **kwargs: Any) -> None:
        self.calls["end"] += 1


def test_callbacks_are_called() -> None:
    Counting.calls.clear()
    made = IMPALAConfig().environment(envs.ENV_ID).callbacks(Counting)
    made.env_runners(num_env_runners=0, num_envs_per_env_runner=NUM_ENVS, rollout_fragment_length=8)
    with pytest.warns(UserWarning, match="on_episode_created, .* several times slower"):
        rllib_ride.add_intrinsic_reward(made, method="rnd")
    pieces = made.env_runner_cls(config=made, worker_index=0).sample()
    ended = sum(piece.is_done for piece in pieces)
    assert ended > 0
    assert Counting.calls["step"] == sum(map(len, pieces))
    assert Counting.calls["end"] == ended
    assert Counting.calls["start"] >= len({piece.id_ for piece in pieces})
    assert Counting.calls["created"] == NUM_ENVS + ended


@pytest.mark.parametrize("cls", RUNNERS)
def test_no_piece_is_longer_than_a_fragment(cls: type[SingleAgentEnvRunner]) -> None:
    """Environment 0 resets every third step; with RLlib's runner the others make more steps."""
    runner = cls(config=config(fragment=5), worker_index=0)
    samples = [runner.sample() for _ in range(4)]
    assert {len(piece) for pieces in samples for piece in pieces} <= set(range(1, 6))
    longest = max(
        sum(len(piece) for piece in pieces if environment_of(piece) == NUM_ENVS - 1)
        for pieces in samples
    )
    assert longest == 5 if cls is BatchedEnvRunner else longest > 5


@pytest.mark.parametrize("cls", RUNNERS)
def test_rows_are_as_long_as_the_config_says_whichever_runner_sampled(
    cls: type[SingleAgentEnvRunner],
) -> None:
    """RLlib's V-trace reads the length from the config; runner 3's fragments are a step shorter."""
    made = config(FeedForward)
    made.env_runners(num_env_runners=3, rollout_fragment_length="auto")
    made.training(train_batch_size_per_learner=40)
    assert [made.get_rollout_fragment_length(index) for index in (0, 3)] == [4, 3]
    runner = cls(config=made, worker_index=3)
    pad, *_ = LearnerPipeline(IntrinsicSettings.of(made), for_vtrace=True)(None, None)
    rows = pad(rl_module={DEFAULT_MODULE_ID: runner.module}, batch={}, episodes=runner.sample())
    assert rows[DEFAULT_MODULE_ID][Columns.LOSS_MASK].shape[1] == 4 + 1


def test_connectors_change_what_is_learned_from() -> None:
    """A Discrete observation reaches the Learner as the vector that the policy saw."""
    made = (
        IMPALAConfig()
        .environment("CliffWalking-v1")
        .env_runners(
            num_env_runners=0,
            num_envs_per_env_runner=2,
            rollout_fragment_length=6,
            env_to_module_connector=lambda env, spaces, device: FlattenObservations(),
        )
    )
    with pytest.warns(UserWarning, match="env_to_module_connector"):
        rllib_ride.add_intrinsic_reward(made, method="rnd", counts="view")
    runner = made.env_runner_cls(config=made, worker_index=0)
    states = int(gym.make("CliffWalking-v1").observation_space.n)
    for piece in [*runner.sample(), *runner.sample()]:
        obs = piece.get_observations()
        assert obs.shape == (len(piece) + 1, states) and (obs.sum(1) == 1).all()
