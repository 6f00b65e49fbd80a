"""Hypothesis profiles for tests whose examples run simulations."""

from __future__ import annotations

from swingby.errors import MissingExtra

#: Examples per property, by profile.
EXAMPLES = {"swingby": 100, "swingby-full": 10_000}


def register_profiles() -> None:
    """Register the profiles ``swingby`` and ``swingby-full`` with Hypothesis.

    Both have no deadline, because the first run of the compiled dynamics takes seconds, and no
    check for slow draws; they draw 100 and 10,000 examples. A profile of the same name that is
    there already stays as it is. ``pytest --hypothesis-profile=swingby`` registers them by itself.

    Raises
    ------
    MissingExtra
        If Hypothesis is not installed.

    Examples
    --------
    >>> from hypothesis import settings
    >>> register_profiles()
    >>> settings.get_profile("swingby").max_examples, settings.get_profile("swingby").deadline
    (100, None)
    """
    try:
        from hypothesis import HealthCheck, settings
        from hypothesis.errors import InvalidArgument
    except ImportError:
        raise MissingExtra("hypothesis", "testing") from None
    for name, examples in EXAMPLES.items():
        try:
            settings.get_profile(name)
        except InvalidArgument:
            settings.register_profile(
                name,
                deadline=None,
                max_examples=examples,
                suppress_health_check=[HealthCheck.too_slow],
            )
