"""Diffusion in concept space: points of a SIM task are the data, their coordinates the condition.

Names load on first use; those that train or sample need torch.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

_HOME = {
    "VectorSetting": "swingby.diffusion.vectors.setting",
    "predict_vectors": "swingby.diffusion.vectors.prediction",
    "VectorPrediction": "swingby.diffusion.vectors.prediction",
    "train_vectors": "swingby.diffusion.vectors.train",
    "VectorRun": "swingby.diffusion.vectors.result",
    "compare_vectors": "swingby.diffusion.vectors.compare",
    "VectorComparison": "swingby.diffusion.vectors.compare",
}

__all__ = [
    "VectorComparison",
    "VectorPrediction",
    "VectorRun",
    "VectorSetting",
    "compare_vectors",
    "predict_vectors",
    "train_vectors",
]

if TYPE_CHECKING:
    from swingby.diffusion.vectors.compare import VectorComparison, compare_vectors
    from swingby.diffusion.vectors.prediction import VectorPrediction, predict_vectors
    from swingby.diffusion.vectors.result import VectorRun
    from swingby.diffusion.vectors.setting import VectorSetting
    from swingby.diffusion.vectors.train import train_vectors


def __getattr__(name: str) -> Any:
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module 'swingby.diffusion.vectors' has no attribute {name!r}")
    try:
        value = getattr(importlib.import_module(home), name)
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        from swingby.errors import MissingExtra

        raise MissingExtra("torch", "torch") from None
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})
