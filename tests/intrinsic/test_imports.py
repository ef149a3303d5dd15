from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

from rllib_ride import intrinsic

ROOM = Path(intrinsic.__file__).parent
# Modules outside of any subpackage, held to the same rule.
LEAVES = {"rllib_ride.compiled", "rllib_ride.wording"}
FILES = [
    *sorted(ROOM.glob("*.py")),
    *(ROOM.parents[1] / f"{name.replace('.', '/')}.py" for name in sorted(LEAVES)),
]
ALLOWED = {"gymnasium", "numba", "numpy", "torch", *sys.stdlib_module_names}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_maths_imports_no_ray_and_no_other_room(path: Path) -> None:
    imported = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            imported |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            imported.add(node.module or "a relative import")
    foreign = {
        name
        for name in imported
        if name.split(".")[0] not in ALLOWED
        and name not in LEAVES
        and not f"{name}.".startswith("rllib_ride.intrinsic.")
    }
    assert not foreign
