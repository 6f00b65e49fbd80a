"""Presets: everything that a study of image diffusion models is made of, in three sizes."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from swingby.diffusion.circles import CONDITION, Circles
from swingby.diffusion.layout import Layout
from swingby.errors import InvalidInput
from swingby.theory import numbers
from swingby.training.setting import at_least_zero, one_of, positive, put

#: Raised whenever what a study computes changes.
STUDY_VERSION = 1
PRECISIONS = ("float32", "tf32", "bfloat16")
_WHOLE = {
    "pixels": 8,
    "images_per_class": 1,
    "batch": 1,
    "steps": 0,
    "sampling_steps": 1,
    "generated_images": 1,
    "saves": 2,
    "classifier_steps": 1,
    "classifier_images": 1,
    "classifier_channels": 4,
}
#: A typing error, or a file from elsewhere, should not take for ever.
_MOST = {"saves": 10_000}
_MOST_ELSE = 10**9
_POSITIVE = ("learning_rate", "data_noise")


@dataclass(frozen=True)
class Preset:
    r"""A study: which circles, which network, how it is trained and looked at.

    Parameters
    ----------
    name : str
    contrasts : tuple of float
        Differences between red and blue; one course of training for each and each seed.
    seeds : tuple of int
    pixels : int
        Height and width of an image.
    layout : Layout
    images_per_class : int
        Of the training set.
    batch, steps : int
    learning_rate, weight_decay : float
        Of AdamW; the ends of the noise schedule do not decay.
    averaging : float
        Images are made with a running mean of the weights that keeps this share of itself at a
        step, so it lags by 1 / (1 - averaging) steps; 0 for the weights as they are.
    gamma_min, gamma_max : float
        Ends of the noise schedule to begin with; they are learned.
    data_noise : float
        Of the reconstruction, as the images are given to the network, from -1 to 1.
    sampling_steps : int
        T of the ancestral sampler.
    generated_images : int
        Of each class at every save.
    saves : int
        Number of saves, the first before training; their distances grow, steps being
        proportional to the square of the number of the save.
    classifier_steps, classifier_images, classifier_channels : int
        Training of the classifier: steps, images per class and contrast, width.
    precision : {"float32", "tf32", "bfloat16"}
        Of the network on a GPU; on the CPU it is float32.

    Raises
    ------
    InvalidInput

    References
    ----------
    App. G; the numbers of saves and images of the public code.
    """

    name: str
    contrasts: tuple[float, ...]
    seeds: tuple[int, ...]
    pixels: int = 32
    layout: Layout = field(default_factory=Layout)
    images_per_class: int = 2048
    batch: int = 128
    steps: int = 20_000
    learning_rate: float = 1e-3
    weight_decay: float = 0.01
    averaging: float = 0.0
    gamma_min: float = -5.0
    gamma_max: float = 10.0
    data_noise: float = 1e-3
    sampling_steps: int = 100
    generated_images: int = 32
    saves: int = 61
    classifier_steps: int = 10_000
    classifier_images: int = 1024
    classifier_channels: int = 32
    precision: str = "float32"

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name.isidentifier():
            raise InvalidInput("name", self.name, "must be a word")
        if not isinstance(self.layout, Layout):
            raise InvalidInput("layout", self.layout, "must be a Layout")
        for name, least in _WHOLE.items():
            most = _MOST.get(name, _MOST_ELSE)
            put(self, name, numbers.whole(getattr(self, name), name, least, most=most))
        if self.classifier_channels % 4:
            raise InvalidInput(
                "classifier_channels", self.classifier_channels, "must be a multiple of 4"
            )
        for name in _POSITIVE:
            put(self, name, positive(getattr(self, name), name))
        put(self, "weight_decay", at_least_zero(self.weight_decay, "weight_decay"))
        averaging = at_least_zero(self.averaging, "averaging")
        if not averaging < 1:
            raise InvalidInput("averaging", self.averaging, "must lie from 0 up to 1, excluded")
        put(self, "averaging", averaging)
        for name in ("gamma_min", "gamma_max"):
            end = numbers.exact(getattr(self, name), name)
            put(self, name, numbers.within_float(end, name))
        if not self.gamma_min < self.gamma_max:
            raise InvalidInput("gamma_max", self.gamma_max, "must be larger than gamma_min")
        one_of(self.precision, "precision", PRECISIONS)
        put(self, "seeds", tuple(numbers.whole(one, "seeds", 0) for one in self._many("seeds")))
        circles = tuple(Circles(one, self.pixels) for one in self._many("contrasts"))
        put(self, "contrasts", tuple(one.contrast for one in circles))
        for name in ("seeds", "contrasts"):
            if len(set(getattr(self, name))) < len(getattr(self, name)):
                raise InvalidInput(name, getattr(self, name), "must not repeat")
        if self.layout.condition != CONDITION:
            raise InvalidInput(
                "layout", self.layout, f"must read {CONDITION} numbers of a condition"
            )
        smallest = self.layout.patch * 2 ** (len(self.layout.channels) - 1)
        if self.pixels % smallest:
            raise InvalidInput("pixels", self.pixels, f"must be a multiple of {smallest}")

    def _many(self, name: str) -> tuple[Any, ...]:
        values = getattr(self, name)
        if not isinstance(values, (tuple, list)) or not values:
            raise InvalidInput(name, values, "must be one or more numbers")
        return tuple(values)

    @property
    def save_steps(self) -> tuple[int, ...]:
        """The steps at which images are generated: number of updates before, from 0 to the last."""
        last = self.saves - 1
        return tuple(sorted({round(self.steps * (k / last) ** 2) for k in range(self.saves)}))

    def circles(self, contrast: float) -> Circles:
        """The images of one contrast.

        Parameters
        ----------
        contrast : float

        Returns
        -------
        Circles
        """
        return Circles(contrast, self.pixels)

    @property
    def identity(self) -> str:
        """A name for courses that are the same but for their contrast and seed.

        The steps in all do not enter the weights after a step, but the saves do, so all fields
        count.
        """
        plain = self.to_dict()
        for name in ("name", "contrasts", "seeds"):
            plain.pop(name)
        text = json.dumps({"preset": plain, "version": STUDY_VERSION}, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def to_dict(self) -> dict[str, Any]:
        """The preset as plain values that JSON can hold.

        Returns
        -------
        dict
        """
        return asdict(self)

    @classmethod
    def from_dict(cls, plain: object) -> Preset:
        """The preset that :meth:`to_dict` wrote.

        Parameters
        ----------
        plain : dict

        Returns
        -------
        Preset

        Raises
        ------
        InvalidInput
            For anything else.
        """
        names = {one.name for one in fields(cls)}
        if not isinstance(plain, dict) or set(plain) != names:
            raise InvalidInput("preset", plain, "must have the fields of a preset")
        layout = plain["layout"]
        known = {one.name for one in fields(Layout)}
        if not isinstance(layout, dict) or set(layout) != known:
            raise InvalidInput("layout", layout, "must have the fields of a layout")
        return cls(**{**plain, "layout": Layout(**layout)})
