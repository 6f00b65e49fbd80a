r"""Two-layer ReLU networks: extremal vectors, early alignment, and the optimization threshold.

After "Simplicity bias and optimization threshold in two-layer networks" (Boursier and Flammarion);
docs/relu.md derives what is used. Names load on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from swingby.loading import lazily

_NAMES = {
    "concepts": "rectified_half_times",
    "data": "DataReport check",
    "geometry": "Extremal",
    "results": "Alignment ExtremalVectors align extremal_vectors",
    "verdicts": "Study recorded_study rows study",
}
_HOME = {name: f"swingby.relu.{home}" for home, names in _NAMES.items() for name in names.split()}

if TYPE_CHECKING:
    from swingby.relu.concepts import rectified_half_times as rectified_half_times
    from swingby.relu.data import DataReport as DataReport
    from swingby.relu.data import check as check
    from swingby.relu.geometry import Extremal as Extremal
    from swingby.relu.results import Alignment as Alignment
    from swingby.relu.results import ExtremalVectors as ExtremalVectors
    from swingby.relu.results import align as align
    from swingby.relu.results import extremal_vectors as extremal_vectors
    from swingby.relu.verdicts import Study as Study
    from swingby.relu.verdicts import recorded_study as recorded_study
    from swingby.relu.verdicts import rows as rows
    from swingby.relu.verdicts import study as study

__getattr__, __dir__ = lazily(__name__, _HOME)
__all__ = sorted(_HOME)
