r"""Two-layer ReLU networks: extremal vectors, early alignment, and the optimization threshold.

After "Simplicity bias and optimization threshold in two-layer networks" (Boursier and Flammarion);
docs/relu.md derives what is used. Names load on first use.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

_HOME = {
    "Alignment": "swingby.relu.results",
    "DataReport": "swingby.relu.data",
    "Extremal": "swingby.relu.geometry",
    "ExtremalVectors": "swingby.relu.results",
    "Study": "swingby.relu.verdicts",
    "align": "swingby.relu.results",
    "check": "swingby.relu.results",
    "extremal_vectors": "swingby.relu.results",
    "rectified_half_times": "swingby.relu.concepts",
    "recorded_study": "swingby.relu.verdicts",
    "rows": "swingby.relu.verdicts",
    "study": "swingby.relu.verdicts",
}

__all__ = [
    "Alignment",
    "DataReport",
    "Extremal",
    "ExtremalVectors",
    "Study",
    "align",
    "check",
    "extremal_vectors",
    "recorded_study",
    "rectified_half_times",
    "rows",
    "study",
]

if TYPE_CHECKING:
    from swingby.relu.concepts import rectified_half_times
    from swingby.relu.data import DataReport
    from swingby.relu.geometry import Extremal
    from swingby.relu.results import (
        Alignment,
        ExtremalVectors,
        align,
        check,
        extremal_vectors,
    )
    from swingby.relu.verdicts import Study, recorded_study, rows, study


def __getattr__(name: str) -> Any:
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module 'swingby.relu' has no attribute {name!r}")
    value = getattr(importlib.import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})
