"""Compiled code, levels and visit counts, where numba has no place for its cache."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

LEVEL = """
import gymnasium, rllib_ride
env = gymnasium.make_vec("MiniGrid-MultiRoom-N7-S4-v0", 1, vectorization_mode="vector_entry_point")
env.reset(seed=8)
print(len(env.envs[0].rooms))
"""
COUNT = """
import numpy as np
from rllib_ride.intrinsic.visit_table import VisitTable
print(*VisitTable().visit(np.array([5, 6, 5])))
"""


@pytest.mark.parametrize(("use", "prints"), [(LEVEL, ["7"]), (COUNT, ["1", "1", "2"])])
def test_compiled_code_works_where_nothing_can_be_kept_on_disk(use: str, prints: list[str]) -> None:
    code = (
        "import numba\n"
        "try:\n"
        "    numba.njit(cache=True)(lambda x: x)\n"
        "except RuntimeError as error:\n"
        "    print('cannot cache' in str(error))\n"
        f"{use}"
    )
    nowhere = {"NUMBA_CACHE_LOCATOR_CLASSES": "UserProvidedCacheLocator", "NUMBA_CACHE_DIR": ""}
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, **nowhere},
    )
    assert done.stdout.split() == ["True", *prints]
