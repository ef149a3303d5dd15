"""The hand-written loop: its V-trace, its frames, and that it trains every network it should."""

from __future__ import annotations

import copy
import subprocess
import sys

import gymnasium as gym
import numpy as np
import pytest
import torch

from helpers.envs import ENV_ID
from helpers.scripts import CLONE, load_script
from rllib_ride.intrinsic import get_method

T, N, A = 9, 5, 7

hand_loop = load_script("benchmarks/hand_loop.py")


@pytest.fixture
def env():
    made = gym.make_vec(ENV_ID, num_envs=N, vectorization_mode="vector_entry_point")
    yield made
    made.close()


@pytest.fixture
def policy(env):
    torch.manual_seed(0)
    return hand_loop.Policy(env.single_observation_space, A)


def _vtrace_oracle(log_rhos, discounts, rewards, values):
    """Equation 1 of IMPALA as it is written: for each s a sum over t, with a product over i."""
    num_steps, batch = rewards.shape
    rho = np.minimum(1.0, np.exp(log_rhos))
    targets = values.copy()
    for b in range(batch):
        for s in range(num_steps):
            for t in range(s, num_steps):
                weight = 1.0
                for i in range(s, t):
                    weight *= discounts[i, b] * rho[i, b]
                delta = rewards[t, b] + discounts[t, b] * values[t + 1, b] - values[t, b]
                targets[s, b] += weight * rho[t, b] * delta
    advantages = rho * (rewards + discounts * targets[1:] - values[:-1])
    return targets[:-1], advantages


def test_vtrace_is_equation_1_of_the_impala_paper():
    rng = np.random.default_rng(0)
    log_rhos = rng.normal(size=(6, 3))  # ratios on both sides of the clip
    discounts = 0.9 * (rng.random((6, 3)) > 0.3)
    rewards, values = rng.normal(size=(6, 3)), rng.normal(size=(7, 3))
    assert (discounts == 0).any() and (log_rhos > 0).any() and (log_rhos < 0).any()

    found = hand_loop.vtrace(*map(torch.from_numpy, (log_rhos, discounts, rewards, values)))

    for mine, oracle in zip(
        found, _vtrace_oracle(log_rhos, discounts, rewards, values), strict=True
    ):
        np.testing.assert_allclose(mine.numpy(), oracle, rtol=1e-12)


def test_frames_are_the_steps_that_do_not_only_reset(env, policy):
    actor = hand_loop.Actor(env, policy, seed=0)

    unrolls = [actor.unroll(T), actor.unroll(4)]

    # Environment n has episodes of 2 + 3 n steps, and one more step after each to reset.
    steps = np.arange(T + 4)[:, None]
    lengths = 2 + 3 * np.arange(N)
    is_transition = steps % (lengths + 1) < lengths
    found = torch.cat([unroll.is_transition for unroll in unrolls]).numpy()
    np.testing.assert_array_equal(found, is_transition)
    assert not is_transition[:, :3].all()
    # An observation begins an episode where the step before it was the reset.
    begins = torch.cat([unrolls[0].begins[:-1], unrolls[1].begins]).numpy()
    np.testing.assert_array_equal(begins[1:], ~is_transition)
    assert begins[0].all()
    ends = torch.cat([unroll.ends for unroll in unrolls]).numpy()
    np.testing.assert_array_equal(ends, steps % (lengths + 1) == lengths - 1)


def test_counts_go_on_over_unrolls_and_start_anew_with_episodes(env, policy):
    actor = hand_loop.Actor(env, policy, seed=0)
    unrolls = [actor.unroll(T), actor.unroll(4)]
    counts = torch.cat([unroll.episodic_counts for unroll in unrolls]).numpy()

    for n in range(N):
        period, seen = 2 + 3 * n + 1, {0: 1}
        for t in range(T + 4):
            if t % period == period - 1:  # a reset
                seen = {0: 1}
                continue
            state = (t % period + 1) % 3
            seen[state] = seen.get(state, 0) + 1
            assert counts[t, n] == seen[state]


def test_a_policy_learns_by_what_it_acted_by(env, policy):
    """The learner's forward pass over an unroll gives the log-probabilities of acting."""
    actor = hand_loop.Actor(env, policy, seed=0)
    actor.unroll(4)  # so that states are not all zero
    unroll = actor.unroll(T)
    assert unroll.state[0].abs().sum(dim=1).gt(0).any()

    logits, values, _ = policy(unroll.obs, unroll.begins, unroll.state)

    assert values.shape == (T + 1, N)
    log_probs = logits[:-1].log_softmax(-1).gather(-1, unroll.actions.unsqueeze(-1)).squeeze(-1)
    torch.testing.assert_close(log_probs, unroll.log_probs)


@pytest.mark.parametrize("method", hand_loop.METHODS)
def test_an_update_moves_every_network(env, policy, method):
    cls = get_method(method)
    intrinsic = cls(env.single_observation_space, env.single_action_space) if cls else None
    networks = {"policy": policy, **dict(intrinsic.named_children() if intrinsic else {})}
    before = {name: copy.deepcopy(network.state_dict()) for name, network in networks.items()}

    metrics = hand_loop.Learner(policy, intrinsic).learn(
        hand_loop.Actor(env, policy, seed=0).unroll(T)
    )

    assert len(networks) == (4 if method == "ride" else 1)
    for name, network in networks.items():
        for key, value in network.state_dict().items():
            assert not torch.equal(value, before[name][key]), f"{name}.{key}"
    assert 1.8 < metrics["entropy"] <= np.log(A) + 1e-6
    assert metrics.get("bonus", 1.0) > 0


def test_steps_that_only_reset_train_nothing(env, policy):
    """What is recorded at a reset, its action and its reward, changes no gradient."""
    unroll = hand_loop.Actor(env, policy, seed=0).unroll(T)
    resets = ~unroll.is_transition
    changed = hand_loop.Unroll(
        **{
            **vars(unroll),
            "actions": torch.where(resets, (unroll.actions + 1) % A, unroll.actions),
            "rewards": torch.where(resets, 0.9, unroll.rewards),
            "episodic_counts": torch.where(resets, 100.0, unroll.episodic_counts),
        }
    )
    weights = []
    for recorded in (unroll, changed):
        learned = copy.deepcopy(policy)
        torch.manual_seed(0)
        intrinsic = get_method("ride")(env.single_observation_space, env.single_action_space)
        hand_loop.Learner(learned, intrinsic).learn(recorded)
        both = (learned, intrinsic)
        weights.append(torch.cat([p.flatten() for module in both for p in module.parameters()]))

    assert resets.any() and not torch.equal(changed.actions, unroll.actions)
    torch.testing.assert_close(weights[0], weights[1], rtol=0, atol=0)


def test_frames_per_second_counts_what_it_trained_on():
    told = hand_loop.frames_per_second(
        1e-9, method="none", env_id=ENV_ID, num_envs=N, unroll_length=T
    )

    # One update to warm up, one that counts: steps T to 2 T - 1.
    lengths = 2 + 3 * np.arange(N)
    assert told["updates"] == 1
    assert told["frames"] == (np.arange(T, 2 * T)[:, None] % (lengths + 1) < lengths).sum()
    assert told["fps"] == pytest.approx(told["frames"] / told["seconds"])


def test_the_loop_needs_no_ray():
    code = f"import sys; sys.path.insert(0, {str(CLONE / 'benchmarks')!r}); import hand_loop; "
    code += "print('ray' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)

    assert done.stdout.strip() == "False", done.stderr
