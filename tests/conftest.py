"""Hypothesis profiles: no deadlines; the same examples on every machine by default."""

import os

from hypothesis import HealthCheck, settings

settings.register_profile(
    "default",
    deadline=None,
    derandomize=True,
    max_examples=60,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("full", parent=settings.get_profile("default"), max_examples=10_000)
settings.load_profile(os.environ.get("SWINGBY_HYPOTHESIS_PROFILE", "default"))
