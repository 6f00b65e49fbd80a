"""Diffusion in concept space: points of a SIM task are the data, their coordinates the condition.

Names load on first use; those that train or sample need torch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from swingby.loading import lazily

_HOME = {
    "VectorSetting": "swingby.diffusion.vectors.setting",
    "predict_vectors": "swingby.diffusion.vectors.prediction",
    "VectorPrediction": "swingby.diffusion.vectors.prediction",
    "train_vectors": "swingby.diffusion.vectors.train",
    "VectorRun": "swingby.diffusion.vectors.train",
    "compare_vectors": "swingby.diffusion.vectors.compare",
    "VectorComparison": "swingby.diffusion.vectors.compare",
}

if TYPE_CHECKING:
    from swingby.diffusion.vectors.compare import VectorComparison as VectorComparison
    from swingby.diffusion.vectors.compare import compare_vectors as compare_vectors
    from swingby.diffusion.vectors.prediction import VectorPrediction as VectorPrediction
    from swingby.diffusion.vectors.prediction import predict_vectors as predict_vectors
    from swingby.diffusion.vectors.setting import VectorSetting as VectorSetting
    from swingby.diffusion.vectors.train import VectorRun as VectorRun
    from swingby.diffusion.vectors.train import train_vectors as train_vectors

__getattr__, __dir__ = lazily(__name__, _HOME)
__all__ = sorted(_HOME)
