from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor

from helpers.transitions import SHAPE, SPACES, A, T
from rllib_ride.intrinsic import E3b, Transitions, e3b


def new_method(**options: float) -> E3b:
    torch.manual_seed(0)
    return E3b(*SPACES, **options)


def random_episode(length: int, seed: int) -> Tensor:
    """Observations of an episode of `length` steps, [length + 1, H, W, C], from few states."""
    generator = torch.Generator().manual_seed(seed)
    states = torch.randint(0, 11, (9, *SHAPE), dtype=torch.uint8, generator=generator)
    return states[torch.randint(0, 9, (length + 1,), generator=generator)]


def paper_bonuses(method: E3b, obs: Tensor, ridge: float = 0.1) -> NDArray[np.float64]:
    """b_1 to b_T of a whole episode: in float64, with one explicit inverse per step."""
    with torch.no_grad():
        phi = method.embedding(obs).double().numpy()  # [length + 1, D]
    c = ridge * np.eye(phi.shape[1])
    bonus = []
    for t in range(1, len(phi)):
        c += np.outer(phi[t - 1], phi[t - 1])
        bonus.append(phi[t] @ np.linalg.inv(c) @ phi[t])
    return np.array(bonus)


Piece = tuple[int, int, Tensor]  # of an episode: its id, the step it begins at, its observations


def batch_of(*pieces: Piece) -> Transitions:
    """A batch with the pieces as columns, padded with random values."""
    num_steps = max(len(obs) - 1 for _, _, obs in pieces)
    obs = torch.randint(0, 256, (num_steps + 1, len(pieces), *SHAPE), dtype=torch.uint8)
    mask = torch.zeros(num_steps, len(pieces), dtype=torch.bool)
    for b, (_, _, piece) in enumerate(pieces):
        obs[: len(piece), b] = piece
        mask[: len(piece) - 1, b] = True
    return Transitions(
        obs=obs,
        actions=torch.randint(0, A, mask.shape),
        episodic_counts=torch.ones(mask.shape),
        mask=mask,
        state_keys=torch.zeros(mask.shape, dtype=torch.long),
        episode_ids=torch.tensor([episode for episode, _, _ in pieces]),
        t_started=torch.tensor([start for _, start, _ in pieces]),
    )


def bonuses_of(method: E3b, *pieces: Piece) -> list[NDArray[np.float32]]:
    """The bonuses of each piece of one batch."""
    batch = batch_of(*pieces)
    bonus = method.bonus(batch).numpy()
    assert bonus.dtype == np.float32 and not bonus[~batch.mask.numpy()].any()
    return [bonus[: len(obs) - 1, b] for b, (_, _, obs) in enumerate(pieces)]


@pytest.mark.parametrize("ridge", [0.1, 2.0])
def test_bonus_in_the_paper_s_notation(ridge: float) -> None:
    """Episodes of 13, 4 and 1 steps side by side."""
    method = new_method(ridge=ridge)
    episodes = [random_episode(length, seed=length) for length in (13, 4, 1)]
    bonuses = bonuses_of(method, *((7 + i, 0, obs) for i, obs in enumerate(episodes)))
    for bonus, obs in zip(bonuses, episodes, strict=True):
        np.testing.assert_allclose(bonus, paper_bonuses(method, obs, ridge), rtol=1e-4)


def test_an_episode_may_be_cut_anywhere() -> None:
    obs = random_episode(12, seed=0)
    expected = paper_bonuses(new_method(), obs)
    for cut in range(1, 12):
        method = new_method()
        (first,) = bonuses_of(method, (5, 0, obs[: cut + 1]))
        (second,) = bonuses_of(method, (5, cut, obs[cut:]))
        np.testing.assert_allclose(np.concatenate([first, second]), expected, rtol=1e-4)


def test_pieces_in_one_batch_are_taken_in_their_order_and_episodes_apart() -> None:
    """Two episodes, in three and four pieces, over two batches, with columns in random order."""
    x, y = random_episode(20, seed=1), random_episode(17, seed=2)
    method = new_method()
    y_3, x_1, y_0, x_0 = bonuses_of(
        method, (8, 3, y[3:9]), (4, 6, x[6:11]), (8, 0, y[:4]), (4, 0, x[:7])
    )
    y_15, x_10, y_8 = bonuses_of(method, (8, 15, y[15:]), (4, 10, x[10:]), (8, 8, y[8:16]))
    x_bonus, y_bonus = np.concatenate([x_0, x_1, x_10]), np.concatenate([y_0, y_3, y_8, y_15])
    np.testing.assert_allclose(x_bonus, paper_bonuses(method, x), rtol=1e-4)
    np.testing.assert_allclose(y_bonus, paper_bonuses(method, y), rtol=1e-4)


def test_long_sequences_are_done_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(e3b, "NUM_STATES", 3)
    method, x, y = new_method(), random_episode(11, seed=3), random_episode(7, seed=4)
    x_bonus, y_bonus = bonuses_of(method, (1, 0, x), (2, 0, y))
    np.testing.assert_allclose(x_bonus, paper_bonuses(method, x), rtol=1e-4)
    np.testing.assert_allclose(y_bonus, paper_bonuses(method, y), rtol=1e-4)


@pytest.mark.parametrize(("scale", "drift"), [(1.0, 5e-5), (5.0, 5e-3), (30.0, 0.1)])
def test_single_precision_lasts_for_long_episodes(scale: float, drift: float) -> None:
    """1,500 steps over nine states, in 25 pieces: C is kept as float32 from piece to piece.

    Each state is visited so often that its bonus falls to a thousandth of a first visit's. There,
    an inverse kept as float32 and updated at each step is off by more than `drift`.
    """
    obs = random_episode(1_500, seed=5)
    method = new_method()
    with torch.no_grad():
        method.embedding.convolutions[4].weight *= scale  # the last; phi grows with it
        phi = method.embedding(obs)
    bonus = [bonuses_of(method, (1, t, obs[t : t + 61]))[0] for t in range(0, 1_500, 60)]
    expected = paper_bonuses(method, obs)
    assert expected[-100:].max() < 0.01
    np.testing.assert_allclose(np.concatenate(bonus), expected, rtol=1e-6)
    assert np.abs(sherman_morrison(phi) / expected - 1.0).max() > drift


def sherman_morrison(phi: Tensor, ridge: float = 0.1) -> NDArray[np.float32]:
    """b_1 to b_T of a whole episode by rank-1 updates, in the precision of phi, [T+1, D]."""
    inverse = torch.eye(phi.shape[1]) / ridge
    bonus = []
    for phi_t in phi:
        u = inverse @ phi_t
        bonus.append(phi_t @ u)
        inverse -= torch.outer(u, u) / (1.0 + bonus[-1])
    return torch.stack(bonus)[1:].numpy()


def test_it_fades_with_visits_in_the_episode_and_not_over_episodes() -> None:
    method = new_method()
    obs = random_episode(0, seed=6).repeat(9, 1, 1, 1)  # one state, eight steps
    (bonus,) = bonuses_of(method, (1, 0, obs))
    # With p = phi^T phi, the bonus after n visits is p / (lambda + n p).
    np.testing.assert_allclose(np.diff(1.0 / bonus), 1.0, rtol=1e-4)
    for episode in (2, 1):  # a new one, and one that restarts with the same id
        assert np.array_equal(bonuses_of(method, (episode, 0, obs))[0], bonus)
    (later,) = bonuses_of(method, (2, 8, obs))
    assert (later < bonus[-1]).all()


def test_of_an_unknown_episode_the_first_state_seen_is_the_first() -> None:
    """As after restoring a checkpoint, which does not contain the covariances."""
    method, obs = new_method(), random_episode(6, seed=7)
    assert set(method.state_dict()) == set(dict(method.named_parameters()))
    (bonus,) = bonuses_of(method, (1, 400, obs))
    np.testing.assert_allclose(bonus, paper_bonuses(method, obs), rtol=1e-4)


def test_the_episode_not_met_for_longest_is_forgotten_and_that_is_told() -> None:
    method, obs = new_method(num_episodes=2), random_episode(6, seed=8)
    bonuses_of(method, (1, 0, obs[:4]))
    bonuses_of(method, (2, 0, obs[:4]))
    bonuses_of(method, (1, 3, obs[3:5]))  # seen after episode 2
    bonuses_of(method, (3, 0, obs[:4]))
    (known,) = bonuses_of(method, (1, 4, obs[4:]))
    np.testing.assert_allclose(known, paper_bonuses(method, obs)[4:], rtol=1e-4)
    with pytest.warns(UserWarning, match="keeps 2 episodes .* set num_episodes in method_config"):
        (forgotten,) = bonuses_of(method, (2, 3, obs[3:]))
    np.testing.assert_allclose(forgotten, paper_bonuses(method, obs[3:]), rtol=1e-4)


def test_an_episode_that_ends_is_dropped_and_leaves_room_for_those_that_go_on() -> None:
    """One episode continues while many more than `num_episodes` end, in two pieces or in one."""
    method, obs = new_method(num_episodes=2), random_episode(12, seed=8)
    found = []
    for t in range(12):
        batch = batch_of((1, t, obs[t : t + 2]), (50 + t, 3, obs[:4]), (50 + t, 0, obs[:4]))
        bonus = method.bonus(replace(batch, ended=torch.tensor([t == 11, True, False])))
        found.append(bonus[0, 0])
        assert list(method._covariances) == ([1] if t < 11 else [])
    np.testing.assert_allclose(found, paper_bonuses(method, obs), rtol=1e-4)


def test_what_is_kept_is_of_the_size_that_the_documentation_says() -> None:
    """64 KiB per episode on MiniGrid: no matrix is a view that keeps a larger tensor alive."""
    method = new_method()
    bonuses_of(method, *((i, 0, random_episode(3, seed=i)) for i in range(5)))
    kept = method._covariances.values()
    assert [matrix.untyped_storage().nbytes() for matrix in kept] == [64 * 1024] * 5


def test_an_empty_column_is_no_episode(transitions: Transitions) -> None:
    method = new_method()
    mask = transitions.mask.clone()
    mask[:, 1] = False
    method.bonus(replace(transitions, mask=mask))
    assert list(method._covariances) == [7, 9]


def test_nan_comes_out_as_nan(transitions: Transitions) -> None:
    """The learner can then report the source; a linear algebra error would not name it."""
    method = new_method()
    with torch.no_grad():
        method.embedding.convolutions[0].weight[0] = torch.nan
    assert method.bonus(transitions)[transitions.mask].isnan().all()


def test_loss_in_the_paper_s_notation(transitions: Transitions) -> None:
    method = new_method(inverse_loss_coef=0.3)
    with torch.no_grad():
        phi = method.embedding(transitions.obs)
        logits = method.inverse_model(phi[:-1], phi[1:]).numpy()  # [T, B, A]
    actions = transitions.actions.numpy()
    errors = [
        np.log(np.exp(logits[t, b]).sum()) - logits[t, b, actions[t, b]]
        for t, b in zip(*np.nonzero(transitions.mask.numpy()), strict=True)
    ]
    loss, metrics = method.loss(transitions)
    assert loss.item() == pytest.approx(0.3 * T * np.mean(errors), rel=1e-5)
    assert metrics == {"inverse_loss": loss} and not metrics["inverse_loss"].requires_grad
    loss.backward()
    assert {name for name, network in method.named_children()} == {"embedding", "inverse_model"}
    assert all(p.grad is not None and p.grad.any() for p in method.parameters())


def test_a_bonus_taken_back_was_never_asked_for() -> None:
    method, other = new_method(), new_method()
    first, second = random_episode(4, seed=1), random_episode(3, seed=2)
    for each in (method, other):
        each.bonus(batch_of((5, 0, first)))
    for batch in (batch_of((5, 4, first)), batch_of((6, 0, second), (5, 4, second))):
        method.bonus(batch)
        method.take_back()
    batch = batch_of((5, 4, second), (6, 0, first))
    torch.testing.assert_close(method.bonus(batch), other.bonus(batch))


def test_it_must_be_able_to_keep_an_episode() -> None:
    with pytest.raises(ValueError, match="num_episodes=0 must be at least 1"):
        new_method(num_episodes=0)
