"""Hypothesis profiles: a few fixed examples per property, or many new ones each time.

`pytest tests/fuzz --hypothesis-profile=thorough` runs the many; `test_thorough.py` does so in the
slow suite.
"""

from __future__ import annotations

from hypothesis import HealthCheck, Verbosity, settings

settings.register_profile(
    "fast",
    max_examples=40,
    derandomize=True,  # the same examples everywhere, so that a failure is due to the change
    database=None,
    deadline=None,  # the machine may be busy
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile(
    "thorough",
    settings.get_profile("fast"),
    max_examples=2000,
    derandomize=False,
    print_blob=True,
    verbosity=Verbosity.normal,
)
settings.load_profile("fast")
