"""The question of the paper put to diffusion models: images of circles, and points of SIM tasks.

Names load on first use; those that train or sample need torch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from swingby.loading import lazily

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
    from swingby.diffusion.verdicts import judge as judge

__getattr__, __dir__ = lazily(__name__, _HOME)
__all__ = sorted(_HOME)
