"""The question of the paper put to diffusion models: images of circles, and points of SIM tasks.

Names load on first use; those that train or sample need torch.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

_HOME = {
    "Circles": "swingby.diffusion.circles",
    "ConceptClassifier": "swingby.diffusion.classifier",
    "Course": "swingby.diffusion.course",
    "Images": "swingby.diffusion.circles",
    "JudgedStudy": "swingby.diffusion.judged",
    "Judgement": "swingby.diffusion.judging.judgement",
    "Layout": "swingby.diffusion.layout",
    "LinearSchedule": "swingby.diffusion.vdm",
    "PRESETS": "swingby.diffusion.presets",
    "Preset": "swingby.diffusion.preset",
    "Representations": "swingby.diffusion.representations",
    "Signals": "swingby.diffusion.signals",
    "Study": "swingby.diffusion.study",
    "UNet": "swingby.diffusion.unet",
    "VectorSetting": "swingby.diffusion.vectors.setting",
    "compare_representations": "swingby.diffusion.representations",
    "compare_vectors": "swingby.diffusion.vectors.compare",
    "judge": "swingby.diffusion.judging.judge",
    "judged_study": "swingby.diffusion.judged",
    "learning_times": "swingby.diffusion.learning",
    "loss": "swingby.diffusion.vdm",
    "measure": "swingby.diffusion.signals",
    "predict_vectors": "swingby.diffusion.vectors.predict",
    "preset_of": "swingby.diffusion.presets",
    "responses": "swingby.diffusion.learning",
    "recorded_study": "swingby.diffusion.study",
    "run_study": "swingby.diffusion.studying",
    "sample": "swingby.diffusion.vdm",
    "train_classifier": "swingby.diffusion.classifier",
    "train_course": "swingby.diffusion.train",
    "train_vectors": "swingby.diffusion.vectors.train",
}

__all__ = [
    "PRESETS",
    "Circles",
    "ConceptClassifier",
    "Course",
    "Images",
    "JudgedStudy",
    "Judgement",
    "Layout",
    "LinearSchedule",
    "Preset",
    "Representations",
    "Signals",
    "Study",
    "UNet",
    "VectorSetting",
    "compare_representations",
    "compare_vectors",
    "judge",
    "judged_study",
    "learning_times",
    "loss",
    "measure",
    "predict_vectors",
    "preset_of",
    "recorded_study",
    "responses",
    "run_study",
    "sample",
    "train_classifier",
    "train_course",
    "train_vectors",
]

if TYPE_CHECKING:
    from swingby.diffusion.circles import Circles, Images
    from swingby.diffusion.classifier import ConceptClassifier, train_classifier
    from swingby.diffusion.course import Course
    from swingby.diffusion.judged import JudgedStudy, judged_study
    from swingby.diffusion.judging.judge import judge
    from swingby.diffusion.judging.judgement import Judgement
    from swingby.diffusion.layout import Layout
    from swingby.diffusion.learning import learning_times, responses
    from swingby.diffusion.preset import Preset
    from swingby.diffusion.presets import PRESETS, preset_of
    from swingby.diffusion.representations import Representations, compare_representations
    from swingby.diffusion.signals import Signals, measure
    from swingby.diffusion.study import Study, recorded_study
    from swingby.diffusion.studying import run_study
    from swingby.diffusion.train import train_course
    from swingby.diffusion.unet import UNet
    from swingby.diffusion.vdm import LinearSchedule, loss, sample
    from swingby.diffusion.vectors.compare import compare_vectors
    from swingby.diffusion.vectors.predict import predict_vectors
    from swingby.diffusion.vectors.setting import VectorSetting
    from swingby.diffusion.vectors.train import train_vectors


def __getattr__(name: str) -> Any:
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module 'swingby.diffusion' has no attribute {name!r}")
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
