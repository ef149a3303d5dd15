"""How a report was made: its command, and the code that trained and that reports."""

from __future__ import annotations

import platform
from collections import Counter
from collections.abc import Sequence

from rllib_ride.analysis.runs import Code, Run
from rllib_ride.machine import package_version

_PACKAGES = ("rllib-ride", "matplotlib", "numpy", "pandas", "rliable")


def made_by(command: str, runs: Sequence[Run]) -> list[str]:
    """Lines with the command, the reporting versions, and each training code with its runs."""
    ours = ", ".join(f"{name} {package_version(name)}" for name in _PACKAGES)
    trained = Counter(tuple(map(_told, run.code)) for run in runs)
    return [
        command,
        f"Reported with Python {platform.python_version()}, {ours}.",
        *(
            f"{count} run{'s' if count > 1 else ''} trained by {', then by '.join(parts)}."
            for parts, count in trained.most_common()
        ),
    ]


def _told(code: Code) -> str:
    versions = ", ".join(f"{name} {version}" for name, version in code.versions)
    return f"commit {code.git_commit or 'unknown'} with {versions or 'unknown versions'}"
