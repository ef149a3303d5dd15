"""The runner's episodes, for any fragment length and any number of runners."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np
import pytest
from gymnasium.vector import AutoresetMode
from ray.rllib.algorithms.impala import IMPALAConfig
from ray.rllib.callbacks.callbacks import RLlibCallback
from ray.rllib.core.columns import Columns
from ray.rllib.env.single_agent_episode import SingleAgentEpisode

import rllib_ride
from helpers import envs
from rllib_ride.rllib.env_runner import BatchedEnvRunner
from rllib_ride.rllib.settings import EPISODIC_COUNTS
from rllib_ride.rllib.stock_runner import CountingEnvRunner
from rllib_ride.rllib.watched_env import EnvironmentFault

NUM_ENVS = 4


def config(*, fragment: int = 8, counts: str = "full", env: str = envs.ENV_ID) -> IMPALAConfig:
    made = (
        IMPALAConfig()
        .environment(env)
        .env_runners(
            num_env_runners=0, num_envs_per_env_runner=NUM_ENVS, rollout_fragment_length=fragment
        )
        .debugging(seed=3)
    )
    return rllib_ride.add_intrinsic_reward(made, counts=counts)


def whole_episodes(pieces: list[SingleAgentEpisode]) -> list[dict[str, np.ndarray]]:
    """Joins the pieces of each episode; each piece must begin where the previous one ended."""
    by_id = defaultdict(list)
    for piece in pieces:
        by_id[piece.id_].append(piece)
    episodes = []
    for parts in by_id.values():
        assert [p.t_started for p in parts] == np.cumsum([0, *map(len, parts[:-1])]).tolist()
        for before, after in zip(parts, parts[1:], strict=False):
            np.testing.assert_array_equal(before.get_observations(-1), after.get_observations(0))
            assert not before.is_done
        episodes.append(
            {
                "obs": np.concatenate(
                    [parts[0].get_observations(slice(0, 1))]
                    + [p.get_observations(slice(1, None)) for p in parts]
                ),
                "counts": np.concatenate(
                    [p.get_extra_model_outputs(EPISODIC_COUNTS) for p in parts]
                ),
                "rewards": np.concatenate([p.get_rewards() for p in parts]),
                "done": parts[-1].is_done,
                "terminated": parts[-1].is_terminated,
            }
        )
    return episodes


@pytest.mark.parametrize("counts", ["full", "view"])
@pytest.mark.parametrize("fragment", [1, 3, 8, 40])
def test_counts_and_rewards_at_any_fragment_length(fragment: int, counts: str) -> None:
    runner = BatchedEnvRunner(config=config(fragment=fragment, counts=counts), worker_index=0)
    pieces = [piece for _ in range(40 // fragment) for piece in runner.sample()]
    episodes = whole_episodes(pieces)

    assert sum(e["done"] for e in episodes) > NUM_ENVS
    for episode in episodes:
        _, n, _ = episode["obs"][0, 0, 0]
        steps = len(episode["rewards"])
        # The reset step is not a transition: an episode has exactly its length.
        assert episode["obs"][:, 0, 0, 2].tolist() == list(range(steps + 1))
        assert episode["done"] == (steps == 2 + 3 * n)
        # Odd environments end by their time limit.
        assert episode["terminated"] == (episode["done"] and n % 2 == 0)
        np.testing.assert_allclose(episode["rewards"], np.arange(1, steps + 1) / 1000)
        # "full" keys tell three states apart; the view also shows the time.
        states = np.arange(steps + 1) % envs.NUM_STATES if counts == "full" else range(steps + 1)
        seen = list(states)
        assert episode["counts"].tolist() == [
            seen[: t + 2].count(seen[t + 1]) for t in range(steps)
        ]


def test_frames_are_transitions() -> None:
    runner = BatchedEnvRunner(config=config(fragment=40), worker_index=0)
    pieces = runner.sample()
    metrics = runner.get_metrics()
    transitions = sum(map(len, pieces))
    # Each environment spends one step per episode on its reset.
    resets = sum(40 // (2 + 3 * n + 1) for n in range(NUM_ENVS))
    assert transitions == 40 * NUM_ENVS - resets
    assert metrics["num_env_steps_sampled_lifetime"].peek() == transitions
    assert metrics["num_episodes"].peek() == sum(piece.is_done for piece in pieces) > 0


def test_returns_are_of_whole_episodes() -> None:
    runner = BatchedEnvRunner(config=config(fragment=3), worker_index=0)
    for _ in range(13):
        runner.sample()
    metrics = runner.get_metrics()
    lengths = [2 + 3 * n for n in range(NUM_ENVS) for _ in range((39 + 1) // (3 + 3 * n))]
    returns = [sum(range(1, length + 1)) / 1000 for length in lengths]
    assert metrics["episode_return_mean"].peek() == pytest.approx(np.mean(returns), rel=1e-5)
    assert metrics["episode_return_squared_mean"].peek() == pytest.approx(
        np.mean(np.square(returns)), rel=1e-5
    )
    assert metrics["episode_len_mean"].peek() == pytest.approx(np.mean(lengths))


def test_recurrent_state_goes_on_over_fragments_and_starts_anew_with_an_episode() -> None:
    """Behaviour log-probabilities equal those of the policy run over whole episodes."""
    import torch

    runner = BatchedEnvRunner(config=config(fragment=5), worker_index=0)
    pieces = [piece for _ in range(8) for piece in runner.sample()]
    by_id = defaultdict(list)
    for piece in pieces:
        by_id[piece.id_].append(piece)
    module = runner.module
    assert len(by_id) > NUM_ENVS
    for parts in by_id.values():
        obs = np.concatenate([p.get_observations(slice(0, len(p))) for p in parts])
        actions = np.concatenate([p.get_actions() for p in parts])
        logp = np.concatenate([p.get_extra_model_outputs(Columns.ACTION_LOGP) for p in parts])
        state = {k: v[None] for k, v in module.get_initial_state().items()}
        out = module.forward_inference(
            {Columns.OBS: torch.as_tensor(obs)[None], Columns.STATE_IN: state}
        )
        dist = module.get_inference_action_dist_cls().from_logits(out[Columns.ACTION_DIST_INPUTS])
        expected = dist.logp(torch.as_tensor(actions)[None])[0]
        np.testing.assert_allclose(logp, expected, rtol=1e-4, atol=1e-5)


@pytest.fixture(params=[BatchedEnvRunner, CountingEnvRunner])
def runner_class(request: pytest.FixtureRequest) -> Any:
    return request.param


def first_levels(runner_class: Any, seed: int, worker_index: int) -> list[bytes]:
    """The first observation of each episode that begins in three fragments."""
    made = config(fragment=30, env="MiniGrid-MultiRoom-N2-S4-v0").debugging(seed=seed)
    runner = runner_class(config=made, worker_index=worker_index)
    pieces = [piece for _ in range(3) for piece in runner.sample()]
    return [p.get_observations(0).tobytes() for p in pieces if p.t_started == 0]


def test_same_seed_same_levels_and_each_runner_its_own(runner_class: Any) -> None:
    levels = first_levels(runner_class, seed=3, worker_index=1)
    assert len(levels) > NUM_ENVS
    assert levels == first_levels(runner_class, seed=3, worker_index=1)
    assert levels != first_levels(runner_class, seed=4, worker_index=1)
    # RLlib's seeds of neighbouring runners differ by 1, as do those of neighbouring environments.
    others = first_levels(runner_class, seed=3, worker_index=2)
    assert not set(levels[:NUM_ENVS]) & set(others[:NUM_ENVS])


def test_a_vector_environment_that_takes_one_seed_is_seeded_too(runner_class: Any) -> None:
    """Vectorized CartPole draws for all its environments from one generator."""

    def first_observations(worker_index: int) -> list[bytes]:
        made = config(env="CartPole-v1", counts="view")
        pieces = runner_class(config=made, worker_index=worker_index).sample()
        return [piece.get_observations(0).tobytes() for piece in pieces if piece.t_started == 0]

    assert len(set(first_observations(1))) >= NUM_ENVS
    assert first_observations(1) == first_observations(1)
    assert not set(first_observations(1)) & set(first_observations(2))


@pytest.mark.parametrize("num_env_runners", [1, 2])
def test_remote_runners_count_alike(num_env_runners: int, ray_session: Any) -> None:
    made = config(fragment=7).env_runners(num_env_runners=num_env_runners)
    algo = made.build_algo()
    try:
        sampled = algo.env_runner_group.foreach_env_runner(
            lambda runner: [piece for _ in range(5) for piece in runner.sample()],
            local_env_runner=False,
        )
    finally:
        algo.stop()
    assert len(sampled) == num_env_runners
    for pieces in sampled:
        for episode in whole_episodes(pieces):
            seen = (np.arange(len(episode["rewards"]) + 1) % envs.NUM_STATES).tolist()
            assert episode["counts"].tolist() == [
                seen[: t + 2].count(seen[t + 1]) for t in range(len(seen) - 1)
            ]


def test_whole_episodes_and_fragments_do_not_mix() -> None:
    """Evaluation gets whole episodes from RLlib's own loop; then fragments start anew."""
    made = config(fragment=4, env="MiniGrid-MultiRoom-N2-S4-v0")
    runner = BatchedEnvRunner(config=made, worker_index=0)
    before = runner.sample()
    episodes = runner.sample(num_episodes=3)
    assert len(episodes) == 3 and all(e.is_done and e.t_started == 0 for e in episodes)
    random = runner.sample(num_timesteps=8, random_actions=True)
    assert sum(map(len, random)) == 8
    after = runner.sample()
    assert {e.id_ for e in before}.isdisjoint({e.id_ for e in after})
    assert [e.t_started for e in after] == [0] * NUM_ENVS
    # With the seeds of the first start, the second would repeat its levels.
    first, second = (
        {e.get_observations(0).tobytes() for e in pieces} for pieces in (before, after)
    )
    assert first != second


class EndCallback(RLlibCallback):
    def on_episode_end(self, **kwargs: Any) -> None:
        pass


def test_refuses_callbacks_it_would_not_call() -> None:
    with pytest.raises(ValueError, match="does not call on_episode_end"):
        BatchedEnvRunner(config=config().callbacks(EndCallback), worker_index=0)


def test_refuses_environments_that_reset_within_a_step(monkeypatch: pytest.MonkeyPatch) -> None:
    made = config()
    monkeypatch.setitem(envs.Clockwork.metadata, "autoreset_mode", AutoresetMode.SAME_STEP)
    with pytest.raises(ValueError, match="autoreset_mode"):
        BatchedEnvRunner(config=made, worker_index=0)


def test_without_exploration_the_likeliest_action_is_taken() -> None:
    runner = BatchedEnvRunner(config=config(fragment=20), worker_index=0)
    steps = 20 * NUM_ENVS
    first, again = (
        runner.sample(num_timesteps=steps, explore=False, force_reset=True) for _ in range(2)
    )
    for piece, other in zip(first, again, strict=True):
        assert piece.t_started == other.t_started == 0
        np.testing.assert_array_equal(piece.get_actions(), other.get_actions())


def test_evaluation_plays_levels_of_its_own() -> None:
    made = config(fragment=2, env="MiniGrid-MultiRoom-N2-S4-v0")
    evaluation = made.copy(copy_frozen=False)
    evaluation.in_evaluation = True
    training_levels, evaluation_levels = (
        {
            piece.get_observations(0).tobytes()
            for piece in BatchedEnvRunner(config=each, worker_index=1).sample()
        }
        for each in (made, evaluation)
    )
    assert training_levels != evaluation_levels


def test_a_fragment_that_fails_is_not_continued(monkeypatch: pytest.MonkeyPatch) -> None:
    runner = BatchedEnvRunner(config=config(fragment=3), worker_index=0)
    runner.sample()
    step = envs.Clockwork.step
    monkeypatch.setattr(envs.Clockwork, "step", lambda *args: 1 / 0)
    with pytest.raises(EnvironmentFault, match="it raised ZeroDivisionError"):
        runner.sample()
    monkeypatch.setattr(envs.Clockwork, "step", step)
    pieces = runner.sample()
    assert all(p.get_observations(0)[0, 0, 2] == p.t_started == 0 for p in pieces)


def test_full_counts_need_a_state_key(monkeypatch: pytest.MonkeyPatch) -> None:
    observe = envs.Clockwork._observe
    monkeypatch.setattr(envs.Clockwork, "_observe", lambda self: (observe(self)[0], {}))
    runner = BatchedEnvRunner(config=config(counts="full"), worker_index=0)
    with pytest.raises(ValueError, match="use counts='view'"):
        runner.sample()
