"""The question of the paper put to diffusion models: images of circles, and points of SIM tasks.

Names load on first use; those that train or sample need torch.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

_HOME: dict[str, str] = {
    "Cell": "swingby.diffusion.course",
    "Circles": "swingby.diffusion.circles",
    "Course": "swingby.diffusion.course",
    "Images": "swingby.diffusion.circles",
    "Judgement": "swingby.diffusion.verdicts",
    "Layout": "swingby.diffusion.preset",
    "LinearSchedule": "swingby.diffusion.vdm",
    "PRESETS": "swingby.diffusion.preset",
    "Plan": "swingby.diffusion.plan",
    "Prediction": "swingby.diffusion.plan",
    "Preset": "swingby.diffusion.preset",
    "Reading": "swingby.diffusion.circles",
    "Signals": "swingby.diffusion.theory",
    "Study": "swingby.diffusion.study",
    "UNet": "swingby.diffusion.unet",
    "VectorSetting": "swingby.diffusion.vectors.setting",
    "compare_vectors": "swingby.diffusion.vectors.compare",
    "default_plan": "swingby.diffusion.plan",
    "directions": "swingby.diffusion.course",
    "judge": "swingby.diffusion.verdicts",
    "learning_times": "swingby.diffusion.course",
    "linear_response": "swingby.diffusion.course",
    "loss": "swingby.diffusion.vdm",
    "measure": "swingby.diffusion.theory",
    "predict_vectors": "swingby.diffusion.vectors.prediction",
    "preset_of": "swingby.diffusion.preset",
    "read_circles": "swingby.diffusion.circles",
    "recorded_plan": "swingby.diffusion.plan",
    "recorded_study": "swingby.diffusion.study",
    "responses": "swingby.diffusion.course",
    "run_study": "swingby.diffusion.study",
    "sample": "swingby.diffusion.vdm",
    "train_course": "swingby.diffusion.train",
    "train_vectors": "swingby.diffusion.vectors.train",
}

__all__ = [
    "PRESETS",
    "Cell",
    "Circles",
    "Course",
    "Images",
    "Judgement",
    "Layout",
    "LinearSchedule",
    "Plan",
    "Prediction",
    "Preset",
    "Reading",
    "Signals",
    "Study",
    "UNet",
    "VectorSetting",
    "compare_vectors",
    "default_plan",
    "directions",
    "judge",
    "learning_times",
    "linear_response",
    "loss",
    "measure",
    "predict_vectors",
    "preset_of",
    "read_circles",
    "recorded_plan",
    "recorded_study",
    "responses",
    "run_study",
    "sample",
    "train_course",
    "train_vectors",
]

if TYPE_CHECKING:
    from swingby.diffusion.circles import Circles, Images, Reading, read_circles
    from swingby.diffusion.course import (
        Cell,
        Course,
        directions,
        learning_times,
        linear_response,
        responses,
    )
    from swingby.diffusion.plan import Plan, Prediction, default_plan, recorded_plan
    from swingby.diffusion.preset import PRESETS, Layout, Preset, preset_of
    from swingby.diffusion.study import Study, recorded_study, run_study
    from swingby.diffusion.theory import Signals, measure
    from swingby.diffusion.train import train_course
    from swingby.diffusion.unet import UNet
    from swingby.diffusion.vdm import LinearSchedule, loss, sample
    from swingby.diffusion.vectors.compare import compare_vectors
    from swingby.diffusion.vectors.prediction import predict_vectors
    from swingby.diffusion.vectors.setting import VectorSetting
    from swingby.diffusion.vectors.train import train_vectors
    from swingby.diffusion.verdicts import Judgement, judge


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
