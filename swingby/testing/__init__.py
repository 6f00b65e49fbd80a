"""For tests of a theory: Hypothesis strategies, and assertions that name the lemma.

The strategies need Hypothesis: ``pip install "swingby[testing]"``. Names load on first use.
"""

from __future__ import annotations

import importlib
import importlib.util
from typing import TYPE_CHECKING, Any

# No module may be called like a name below: importing it would hide the function.
_HOME = {
    "Setting": "swingby.testing.setting",
    "assert_claim": "swingby.testing.assertions",
    "assert_lemmas": "swingby.testing.assertions",
    "assert_stages": "swingby.testing.assertions",
    "assert_windows_match_statements": "swingby.testing.assertions",
    "initializations": "swingby.testing.matrices",
    "register_profiles": "swingby.testing.pytest_plugin",
    "satisfying": "swingby.testing.strategies",
    "step_sizes": "swingby.testing.strategies",
    "tasks": "swingby.testing.strategies",
    "violating": "swingby.testing.strategies",
}

#: Names that are of use without Hypothesis.
_PLAIN = frozenset({"Setting", *(name for name in _HOME if name.startswith("assert_"))})

__all__ = [*sorted(_HOME)]

if TYPE_CHECKING:
    from swingby.testing.assertions import assert_claim as assert_claim
    from swingby.testing.assertions import assert_lemmas as assert_lemmas
    from swingby.testing.assertions import assert_stages as assert_stages
    from swingby.testing.assertions import (
        assert_windows_match_statements as assert_windows_match_statements,
    )
    from swingby.testing.matrices import initializations as initializations
    from swingby.testing.pytest_plugin import register_profiles as register_profiles
    from swingby.testing.setting import Setting as Setting
    from swingby.testing.strategies import satisfying as satisfying
    from swingby.testing.strategies import step_sizes as step_sizes
    from swingby.testing.strategies import tasks as tasks
    from swingby.testing.strategies import violating as violating


def __getattr__(name: str) -> Any:
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module 'swingby.testing' has no attribute {name!r}")
    if name not in _PLAIN and importlib.util.find_spec("hypothesis") is None:
        from swingby.errors import MissingExtra

        raise MissingExtra("hypothesis", "testing")
    value = getattr(importlib.import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
