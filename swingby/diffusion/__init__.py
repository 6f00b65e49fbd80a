"""The question of the paper put to diffusion models: images of circles, and points of SIM tasks.

Names load on first use; those that train or sample need torch.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

_HOME = {
    "Circles": "swingby.diffusion.circles",
    "Images": "swingby.diffusion.circles",
    "Layout": "swingby.diffusion.layout",
    "UNet": "swingby.diffusion.unet",
    "LinearSchedule": "swingby.diffusion.vdm",
    "loss": "swingby.diffusion.vdm",
    "sample": "swingby.diffusion.vdm",
}

__all__ = [
    "Circles",
    "Images",
    "Layout",
    "LinearSchedule",
    "UNet",
    "loss",
    "sample",
]

if TYPE_CHECKING:
    from swingby.diffusion.circles import Circles, Images
    from swingby.diffusion.layout import Layout
    from swingby.diffusion.unet import UNet
    from swingby.diffusion.vdm import LinearSchedule, loss, sample


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
