from __future__ import annotations

import torch

from rllib_ride.intrinsic import combine_rewards


def test_weighs_the_bonus_and_clips_the_sum() -> None:
    r_ext = torch.tensor([0.0, 0.9, -1.0, -0.5, 0.0])
    r_int = torch.tensor([0.3, 0.4, 0.5, 0.0, 9.0])
    total = combine_rewards(r_ext, r_int, coef=0.5)
    torch.testing.assert_close(total, torch.tensor([0.15, 1.0, -0.75, -0.5, 1.0]))


def test_the_clip_may_be_wider_or_left_out() -> None:
    r_ext, r_int = torch.tensor([-5.0, 0.0, 1.0]), torch.tensor([0.0, 1.0, 8.0])
    assert combine_rewards(r_ext, r_int, coef=0.5, clip=2.0).tolist() == [-2.0, 0.5, 2.0]
    assert combine_rewards(r_ext, r_int, coef=0.5, clip=None).tolist() == [-5.0, 0.5, 5.0]
