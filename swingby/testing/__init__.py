"""For tests of a theory: Hypothesis strategies, and assertions that name the lemma.

The strategies need Hypothesis: ``pip install "swingby[testing]"``. Names load on first use.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from swingby.errors import MissingExtra

# No module may be called like a name below: importing it would hide the function.
_HOME = {
    name: f"swingby.testing.{module}"
    for module, names in {
        "assertions": "assert_claim assert_lemmas assert_stages assert_windows_match_statements",
        "matrices": "initializations",
        "pytest_plugin": "register_profiles",
        "setting": "Setting",
        "strategies": "satisfying step_sizes tasks violating",
    }.items()
    for name in names.split()
}

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
    if name not in _HOME:
        raise AttributeError(f"module 'swingby.testing' has no attribute {name!r}")
    try:
        value = getattr(importlib.import_module(_HOME[name]), name)
    except ModuleNotFoundError as error:
        if error.name not in ("hypothesis", "pytest"):
            raise
        raise MissingExtra(error.name, "testing") from None
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
