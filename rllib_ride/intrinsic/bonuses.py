"""Intrinsic rewards as pure functions, in the notation of their papers.

Each returns one reward per transition, not yet multiplied by the coefficient w_ir. Transition t
leads from s_t to s_{t+1}. "..." stands for any leading axes that all arguments share, such as
[T, B] or [n]. Nothing here knows about networks, masks or gradients.
"""

from __future__ import annotations

import torch
from torch import Tensor


def ride(phi: Tensor, phi_next: Tensor, n_ep: Tensor) -> Tensor:
    """RIDE: r_t = ||phi(s_{t+1}) - phi(s_t)||_2 / sqrt(N_ep(s_{t+1})).

    Source: Raileanu and Rocktaeschel, "RIDE", ICLR 2020, section 4, the definition of R_IDE.

    Args:
        phi: phi(s_t), [..., D].
        phi_next: phi(s_{t+1}), [..., D].
        n_ep: N_ep(s_{t+1}), [...], visits to the reached state in this episode, including this one
            (1 on the first visit).

    Returns:
        [...].
    """
    r = impact(phi, phi_next)  # [...]
    return r / torch.sqrt(n_ep.to(r.dtype))  # [...]


def impact(phi: Tensor, phi_next: Tensor) -> Tensor:
    """NoEpisodicCounts: r_t = ||phi(s_{t+1}) - phi(s_t)||_2.

    Source: RIDE, appendix on ablations: the impact without the episodic counts.

    Args:
        phi: phi(s_t), [..., D].
        phi_next: phi(s_{t+1}), [..., D].

    Returns:
        [...].
    """
    return torch.linalg.vector_norm(phi_next - phi, dim=-1)


def only_episodic_counts(n_ep: Tensor) -> Tensor:
    """OnlyEpisodicCounts: r_t = 1 / sqrt(N_ep(s_{t+1})).

    Source: RIDE, appendix on ablations: the episodic counts without the impact.

    Args:
        n_ep: N_ep(s_{t+1}), [...], as in `ride`.

    Returns:
        [...].
    """
    return 1.0 / torch.sqrt(n_ep)


def icm(phi_hat_next: Tensor, phi_next: Tensor, *, squared: bool) -> Tensor:
    """ICM: r_t = ||phi_hat(s_{t+1}) - phi(s_{t+1})||_2, or its square.

    Source: Pathak et al., "Curiosity-driven Exploration by Self-supervised Prediction", ICML 2017,
    equation 6. RIDE's text keeps the square and leaves the factor eta / 2 to w_ir; the code
    released with RIDE uses the norm without squaring it.

    Args:
        phi_hat_next: the forward model's prediction, [..., D].
        phi_next: phi(s_{t+1}), [..., D].
        squared: whether to square the distance.

    Returns:
        [...].
    """
    distance = torch.linalg.vector_norm(phi_hat_next - phi_next, dim=-1)  # [...]
    return distance.square() if squared else distance


def rnd(prediction: Tensor, target: Tensor) -> Tensor:
    """RND: r_t = ||f_hat(s_{t+1}) - f(s_{t+1})||_2.

    Source: Burda et al., "Exploration by Random Network Distillation", ICLR 2019, section 2.2,
    which squares the error and normalises it. The plain norm follows the code released with RIDE.

    Args:
        prediction: f_hat(s_{t+1}), output of the trained predictor, [..., D].
        target: f(s_{t+1}), output of the fixed random network, [..., D].

    Returns:
        [...].
    """
    return torch.linalg.vector_norm(prediction - target, dim=-1)


def count(n: Tensor) -> Tensor:
    """Count: r_t = 1 / sqrt(N(s_{t+1})).

    Source: Strehl and Littman, "An analysis of model-based Interval Estimation for Markov Decision
    Processes", JCSS 2008, the bonus of MBIE-EB. Bellemare et al., "Unifying Count-Based
    Exploration and Intrinsic Motivation", NeurIPS 2016, brought it to deep RL.

    Args:
        n: N(s_{t+1}), [...], visits to the reached state in all of training, including this one.

    Returns:
        [...].
    """
    return 1.0 / torch.sqrt(n)


def noveld(novelty: Tensor, novelty_next: Tensor, n_ep: Tensor, *, alpha: float) -> Tensor:
    """NovelD: r_t = max(nov(s_{t+1}) - alpha nov(s_t), 0) * 1[N_ep(s_{t+1}) = 1].

    Source: Zhang et al., "NovelD: A Simple yet Effective Exploration Criterion", NeurIPS 2021, the
    definition of the intrinsic reward. The novelty nov(s) is RND's error on s (`rnd`).

    Args:
        novelty: nov(s_t), [...].
        novelty_next: nov(s_{t+1}), [...].
        n_ep: N_ep(s_{t+1}), [...], as in `ride`.
        alpha: the share of nov(s_t) that is subtracted.

    Returns:
        [...].
    """
    rise = (novelty_next - alpha * novelty).clamp(min=0.0)  # [...]
    return torch.where(n_ep == 1, rise, 0.0)


def e3b(phi: Tensor, c: Tensor) -> Tensor:
    """E3B: b_t = phi(s_t)^T C_{t-1}^{-1} phi(s_t), with C_t = C_{t-1} + phi(s_t) phi(s_t)^T.

    Source: Henaff et al., "Exploration via Elliptical Episodic Bonuses", NeurIPS 2022, the
    definition of the bonus.

    Computes all S bonuses at once, without an inverse. By the matrix determinant lemma,
    det C_t = det C_{t-1} (1 + b_t). The leading principal minors of the [S, S] matrix
    I + Phi C_0^{-1} Phi^T are det C_t / det C_0, so the diagonal of its Cholesky factor holds
    sqrt(1 + b_t).

    Args:
        phi: phi(s_1) to phi(s_S), [..., S, D], an episode's states in order. Use float64: a small
            b_t is the difference of two numbers near 1.
        c: C_0, [..., D, D], lambda I plus phi phi^T of each state before s_1.

    Returns:
        b_1 to b_S, [..., S].
    """
    # Unlike cholesky, cholesky_ex returns NaN for NaN, and the caller can report its source.
    root = torch.linalg.cholesky_ex(c).L  # [..., D, D]
    whitened = torch.linalg.solve_triangular(root, phi.mT, upper=False)  # [..., D, S]
    gram = whitened.mT @ whitened  # [..., S, S]
    identity = torch.eye(gram.shape[-1], dtype=gram.dtype, device=gram.device)
    factor = torch.linalg.cholesky_ex(identity + gram).L  # [..., S, S]
    return factor.diagonal(dim1=-2, dim2=-1).square() - 1.0
