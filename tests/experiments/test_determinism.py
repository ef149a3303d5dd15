"""One process and one seed: the same run again, and the same run with an interruption."""

from __future__ import annotations

from pathlib import Path

import pytest

from helpers.short_trial import short_trial

CASES = [
    pytest.param("ride", False),
    *(pytest.param(name, False, marks=pytest.mark.slow) for name in ("count", "rnd", "none")),
    *(pytest.param(name, True, marks=pytest.mark.slow) for name in ("ride", "count")),
]


@pytest.mark.parametrize(("method", "ppo"), CASES)
def test_the_same_seed_gives_the_same_run_interrupted_or_not(
    tmp_path: Path, method: str, ppo: bool
) -> None:
    first = short_trial(method=method, ppo=ppo, updates=10, save=[4, str(tmp_path)], hash_seed=1)
    again = short_trial(method=method, ppo=ppo, updates=10, hash_seed=2)
    resumed = short_trial(method=method, ppo=ppo, updates=6, load=str(tmp_path), hash_seed=3)

    assert first == again
    assert resumed == {**first, "rows": first["rows"][4:]}
    last = first["rows"][-1]
    assert last["frames"] > 600 and last["episodes"] > 0
    if method != "none":
        assert last["intrinsic_reward_mean"] > 0
