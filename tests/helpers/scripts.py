"""Imports a script that is not part of the package."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

CLONE = Path(__file__).parents[2]


def load_script(path: str) -> ModuleType:
    """The script at `path` in the repository, such as `benchmarks/soak.py`, as a module."""
    file = CLONE / path
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[file.stem] = module  # dataclasses look up annotations there
    spec.loader.exec_module(module)
    return module
