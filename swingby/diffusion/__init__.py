"""The question of the paper put to diffusion models: images of circles, and points of SIM tasks.

Names load on first use; those that train or sample need torch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from swingby.loading import lazily

_NAMES = {
    "circles": "Circles Images Reading read_circles",
    "course": "Cell Course directions learning_times linear_response responses",
    "plan": "Plan Prediction default_plan recorded_plan",
    "preset": "Layout PRESETS Preset preset_of",
    "study": "Study recorded_study run_study",
    "theory": "Signals measure",
    "train": "train_course",
    "unet": "UNet",
    "vdm": "LinearSchedule loss sample",
    "vectors.compare": "compare_vectors",
    "vectors.prediction": "predict_vectors",
    "vectors.setting": "VectorSetting",
    "vectors.train": "train_vectors",
    "verdicts": "Judgement figure_rows judge",
}
_HOME = {
    name: f"swingby.diffusion.{module}"
    for module, names in _NAMES.items()
    for name in names.split()
}

if TYPE_CHECKING:
    from swingby.diffusion.circles import Circles as Circles
    from swingby.diffusion.circles import Images as Images
    from swingby.diffusion.circles import Reading as Reading
    from swingby.diffusion.circles import read_circles as read_circles
    from swingby.diffusion.course import Cell as Cell
    from swingby.diffusion.course import Course as Course
    from swingby.diffusion.course import directions as directions
    from swingby.diffusion.course import learning_times as learning_times
    from swingby.diffusion.course import linear_response as linear_response
    from swingby.diffusion.course import responses as responses
    from swingby.diffusion.plan import Plan as Plan
    from swingby.diffusion.plan import Prediction as Prediction
    from swingby.diffusion.plan import default_plan as default_plan
    from swingby.diffusion.plan import recorded_plan as recorded_plan
    from swingby.diffusion.preset import PRESETS as PRESETS
    from swingby.diffusion.preset import Layout as Layout
    from swingby.diffusion.preset import Preset as Preset
    from swingby.diffusion.preset import preset_of as preset_of
    from swingby.diffusion.study import Study as Study
    from swingby.diffusion.study import recorded_study as recorded_study
    from swingby.diffusion.study import run_study as run_study
    from swingby.diffusion.theory import Signals as Signals
    from swingby.diffusion.theory import measure as measure
    from swingby.diffusion.train import train_course as train_course
    from swingby.diffusion.unet import UNet as UNet
    from swingby.diffusion.vdm import LinearSchedule as LinearSchedule
    from swingby.diffusion.vdm import loss as loss
    from swingby.diffusion.vdm import sample as sample
    from swingby.diffusion.vectors.compare import compare_vectors as compare_vectors
    from swingby.diffusion.vectors.prediction import predict_vectors as predict_vectors
    from swingby.diffusion.vectors.setting import VectorSetting as VectorSetting
    from swingby.diffusion.vectors.train import train_vectors as train_vectors
    from swingby.diffusion.verdicts import Judgement as Judgement
    from swingby.diffusion.verdicts import figure_rows as figure_rows
    from swingby.diffusion.verdicts import judge as judge

__getattr__, __dir__ = lazily(__name__, _HOME)
__all__ = sorted(_HOME)
