"""Hypothesis strategies for property-based tests of the theory.

Needs Hypothesis: ``pip install "swingby[testing]"``. Names load on first use.
"""

from __future__ import annotations

import importlib
import importlib.util
from typing import TYPE_CHECKING, Any

# No module may be called like a name below: importing it would hide the function.
_HOME = {
    "Setting": "swingby.testing.setting",
    "initializations": "swingby.testing.draw_initializations",
    "satisfying": "swingby.testing.inside",
    "step_sizes": "swingby.testing.draw_step_sizes",
    "tasks": "swingby.testing.draw_tasks",
    "violating": "swingby.testing.outside",
}

__all__ = [*sorted(_HOME)]

if TYPE_CHECKING:
    from swingby.testing.draw_initializations import initializations as initializations
    from swingby.testing.draw_step_sizes import step_sizes as step_sizes
    from swingby.testing.draw_tasks import tasks as tasks
    from swingby.testing.inside import satisfying as satisfying
    from swingby.testing.outside import violating as violating
    from swingby.testing.setting import Setting as Setting


def __getattr__(name: str) -> Any:
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module 'swingby.testing' has no attribute {name!r}")
    if importlib.util.find_spec("hypothesis") is None:
        from swingby.errors import MissingExtra

        raise MissingExtra("hypothesis", "testing")
    value = getattr(importlib.import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
