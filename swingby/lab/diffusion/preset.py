"""Presets of image diffusion models: network, training and measurement, in three sizes."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from swingby.errors import MISSING, InvalidInput
from swingby.hints import Hinted, suggestion
from swingby.lab.diffusion.circles import CONDITION, Circles
from swingby.lab.field_checks import at_least_zero, booleans, instance, one_of, positive, set_field
from swingby.theory import numbers

_PRECISIONS = ("float32", "tf32", "bfloat16")
OPTIMIZERS = ("adamw", "sgd")
_LAYOUT = {"blocks": 1, "heads": 0, "groups": 1, "embedding": 2, "patch": 1}
_WHOLE = {
    "pixels": 8, "images_per_class": 1, "batch": 1, "steps": 0, "sampling_steps": 1,
    "generated_images": 1, "saves": 2,
}  # fmt: skip
#: A typing error, or a file from elsewhere, should not take for ever.
_MOST, _MOST_SAVES = 10**9, 10_000


def as_float(value: object, name: str) -> float:
    """A number of either sign as a float."""
    return numbers.within_float(numbers.exact(value, name), name)


def with_fields(
    known: Collection[str], name: str, given: object, needed: Collection[str] = ()
) -> dict[str, Any]:
    """Values by fields, all required unless `needed` lists fewer; InvalidInput names the field."""
    if not isinstance(given, Mapping):
        raise InvalidInput(name, given, f"must have the fields {', '.join(known)}")
    for field_name in given:
        if field_name not in known:
            raise InvalidInput(
                name, field_name, f"has no such field{suggestion(str(field_name), known)}"
            )
    for field_name in needed or known:
        if field_name not in given:
            raise InvalidInput(name, MISSING, f"must have the field {field_name}")
    return dict(given)


@dataclass(frozen=True)
class Layout(Hinted):
    """Layers of a U-Net (App. G.2)."""

    #: Of each level; between levels the image is halved.
    channels: tuple[int, ...] = (64, 128, 256)
    #: Residual blocks of each level.
    blocks: int = 2
    #: Of the self-attention in the bottleneck; 0 for none.
    heads: int = 4
    #: "group" normalizes groups of channels (the public code of the paper), "layer" all of them.
    norm: str = "group"
    groups: int = 8
    #: Sines and cosines of the time.
    embedding: int = 64
    #: Squares of so many pixels by so many are one pixel with more channels inside the network.
    patch: int = 1
    #: The numbers of a condition are read as (condition - centre) gain; one of each per number.
    centre: tuple[float, ...] = (0.0, 0.0, 0.0, 0.0)
    gain: tuple[float, ...] = (1.0, 1.0, 1.0, 1.0)
    #: False cuts the condition off: a network that cannot follow it, to compare with.
    reads_condition: bool = True

    def __post_init__(self) -> None:
        if not isinstance(self.channels, (tuple, list)) or not self.channels:
            raise InvalidInput("channels", self.channels, "must be the channels of each level")
        set_field(
            self, "channels", tuple(numbers.whole(count, "channels", 1) for count in self.channels)
        )
        for name, lowest in _LAYOUT.items():
            set_field(self, name, numbers.whole(getattr(self, name), name, lowest, most=_MOST))
        one_of(self.norm, "norm", ("group", "layer"))
        booleans(self, "reads_condition")
        for name in ("centre", "gain"):
            values = getattr(self, name)
            if not isinstance(values, (tuple, list)) or not values:
                raise InvalidInput(name, values, "must be numbers, one per number of a condition")
            set_field(self, name, tuple(as_float(value, name) for value in values))
        if len(self.gain) != len(self.centre):
            raise InvalidInput(
                "gain", self.gain, f"must be {len(self.centre)} numbers, as centre is"
            )
        if self.embedding % 2:
            raise InvalidInput("embedding", self.embedding, "must be even")
        if self.norm == "group" and any(count % self.groups for count in self.channels):
            raise InvalidInput("channels", self.channels, f"must be multiples of {self.groups}")
        if self.heads and self.channels[-1] % self.heads:
            raise InvalidInput("heads", self.heads, "must divide the last of the channels")

    @property
    def condition(self) -> int:
        """Numbers in a condition."""
        return len(self.centre)


@dataclass(frozen=True)
class Preset(Hinted):
    """Which network, how it is trained and looked at (App. G; saves as in the public code)."""

    name: str
    #: Height and width of an image.
    pixels: int = 32
    layout: Layout = field(default_factory=Layout)
    #: Of the training set.
    images_per_class: int = 2048
    batch: int = 128
    steps: int = 20_000
    #: "adamw" or "sgd". The ends of the noise schedule do not decay.
    optimizer: str = "adamw"
    learning_rate: float = 1e-3
    weight_decay: float = 0.01
    #: Of "sgd", from 0 up to 1 (excluded); with m its time runs 1 / (1 - m) times as fast.
    momentum: float = 0.0
    #: Images are made with a running mean of the weights that keeps this share of itself at a
    #: step, so it lags by 1 / (1 - averaging) steps; 0 for the weights as they are.
    averaging: float = 0.0
    #: Ends of the noise schedule to begin with, and whether they are learned, as in the paper.
    gamma_min: float = -5.0
    gamma_max: float = 10.0
    learned_schedule: bool = True
    #: Of the reconstruction, as the images are given to the network, from -1 to 1.
    data_noise: float = 1e-3
    #: T of the ancestral sampler.
    sampling_steps: int = 100
    #: Of each class at every save.
    generated_images: int = 32
    #: The first before training; save k comes at a step proportional to k squared.
    saves: int = 61
    #: "float32", "tf32" or "bfloat16", of the network on a GPU; on the CPU it is float32.
    precision: str = "float32"

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name.isidentifier():
            raise InvalidInput("name", self.name, "must be a word")
        instance(self.layout, "layout", Layout)
        for name, lowest in _WHOLE.items():
            highest = _MOST_SAVES if name == "saves" else _MOST
            set_field(self, name, numbers.whole(getattr(self, name), name, lowest, most=highest))
        one_of(self.optimizer, "optimizer", OPTIMIZERS)
        one_of(self.precision, "precision", _PRECISIONS)
        booleans(self, "learned_schedule")
        for name in ("learning_rate", "data_noise"):
            set_field(self, name, positive(getattr(self, name), name))
        set_field(self, "weight_decay", at_least_zero(self.weight_decay, "weight_decay"))
        for name in ("averaging", "momentum"):
            share = at_least_zero(getattr(self, name), name)
            if not share < 1:
                raise InvalidInput(name, getattr(self, name), "must lie from 0 up to 1, excluded")
            set_field(self, name, share)
        if self.momentum and self.optimizer != "sgd":
            raise InvalidInput("momentum", self.momentum, "belongs to sgd")
        for name in ("gamma_min", "gamma_max"):
            set_field(self, name, as_float(getattr(self, name), name))
        if not self.gamma_min < self.gamma_max:
            raise InvalidInput("gamma_max", self.gamma_max, "must be larger than gamma_min")
        Circles(1.0, self.pixels)
        if self.layout.condition != CONDITION:
            raise InvalidInput(
                "layout", self.layout, f"must read {CONDITION} numbers of a condition"
            )
        smallest = self.layout.patch * 2 ** (len(self.layout.channels) - 1)
        if self.pixels % smallest:
            raise InvalidInput("pixels", self.pixels, f"must be a multiple of {smallest}")

    @property
    def save_steps(self) -> tuple[int, ...]:
        """The steps at which images are generated: number of updates before, from 0 to the last."""
        last = self.saves - 1
        return tuple(sorted({round(self.steps * (k / last) ** 2) for k in range(self.saves)}))

    def to_dict(self) -> dict[str, Any]:
        """The preset as plain values that JSON can hold."""
        return asdict(self)

    @classmethod
    def from_dict(cls, plain: object) -> Preset:
        """The preset that :meth:`to_dict` wrote; InvalidInput for anything else."""
        fields = with_fields(cls.__dataclass_fields__, "preset", plain)
        layout = with_fields(Layout.__dataclass_fields__, "layout", fields["layout"])
        return cls(**{**fields, "layout": Layout(**layout)})


#: What a network is told, centred and of about the size of one. The numbers do not depend on the
#: contrast, so a weak contrast is weak in the condition as well.
_CENTRE, _GAIN = (0.45, 0.5, 0.5, 0.5), (2.5, 4.0, 4.0, 4.0)

#: App. G.
PAPER = Preset("paper", layout=Layout(norm="layer"), precision="bfloat16")

#: Small images and a small network. Weights decay faster, images are four times as many and
#: conditions are scaled, all three against learning the training classes by heart, which took the
#: held-out class away from some seeds; the noise schedule is fixed, as in the theory, and ends
#: where noise is a fortieth of the range of a pixel; images are made with a running mean of the
#: weights, since large steps on few images make them flicker.
SMALL = Preset(
    "small",
    pixels=16,
    layout=Layout((16, 32), blocks=1, heads=2, patch=2, centre=_CENTRE, gain=_GAIN),
    images_per_class=8192,
    batch=64,
    steps=2000,
    learning_rate=2e-3,
    weight_decay=0.3,
    averaging=0.995,
    gamma_min=-6.0,
    gamma_max=8.0,
    learned_schedule=False,
    data_noise=0.05,
    sampling_steps=25,
    generated_images=48,
    saves=31,
)

#: Only shows that everything works: too short to learn much.
TINY = replace(
    SMALL, name="tiny", images_per_class=256, batch=32, steps=120, sampling_steps=10,
    generated_images=8, saves=9,
)  # fmt: skip

PRESETS = {preset.name: preset for preset in (TINY, SMALL, PAPER)}


def preset_of(name: object) -> Preset:
    """The preset of that name: "tiny", "small" or "paper"; InvalidInput for another.

    >>> preset_of("small").pixels, preset_of("paper").layout.channels
    (16, (64, 128, 256))
    """
    if not isinstance(name, str) or name not in PRESETS:
        raise InvalidInput("preset", name, "must be tiny, small or paper")
    return PRESETS[name]
