"""How a report was made: its command, the code that ran and the code that reports."""

from __future__ import annotations

import platform
from collections import Counter
from collections.abc import Sequence

from rllib_ride.analysis.runs import Run
from rllib_ride.machine import package_version

_PACKAGES = ("rllib-ride", "matplotlib", "numpy", "pandas", "rliable")


def made_by(command: str, runs: Sequence[Run]) -> list[str]:
    """The command, the versions that report, and those that trained, each set with its runs."""
    ours = ", ".join(f"{name} {package_version(name)}" for name in _PACKAGES)
    trained = Counter(
        (run.git_commit or "unknown", tuple(sorted(run.versions.items()))) for run in runs
    )
    return [
        command,
        f"Reported with Python {platform.python_version()}, {ours}.",
        *(
            f"{count} run{'s' if count > 1 else ''} trained by commit {commit} with "
            f"{', '.join(f'{name} {version}' for name, version in versions) or 'unknown versions'}."
            for (commit, versions), count in trained.most_common()
        ),
    ]
