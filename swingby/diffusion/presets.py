"""The presets: a test's size, the whole question in miniature, twice, and that of the paper."""

from __future__ import annotations

from dataclasses import replace

from swingby.diffusion.layout import Layout
from swingby.diffusion.preset import Preset
from swingby.errors import InvalidInput

#: What a network is told, centred and of about the size of one. The numbers do not depend on the
#: contrast, so a weak contrast is weak in the condition as well.
_CENTRE, _GAIN = (0.45, 0.5, 0.5, 0.5), (2.5, 4.0, 4.0, 4.0)

#: App. G; contrasts as in Fig. 6.
PAPER = Preset(
    "paper",
    contrasts=(0.137, 0.247, 0.358, 0.468, 0.579, 0.689, 0.8),
    seeds=(0, 1, 2),
    layout=Layout(norm="layer"),
    precision="bfloat16",
)

#: The question in miniature. Small images and a small network; weights decay faster, images are
#: four times as many and conditions are scaled, all three against learning the training classes
#: by heart, which takes the held-out class away from some seeds; the data noise keeps the
#: learned schedule from spending most of its range on noise that nobody sees; images are made
#: with a running mean of the weights, since large steps on few images make them flicker.
SMALL = Preset(
    "small",
    contrasts=(0.2, 0.3, 0.45, 0.6, 0.8),
    seeds=(0, 1, 2, 3, 4),
    pixels=16,
    layout=Layout((16, 32), blocks=1, heads=2, patch=2, centre=_CENTRE, gain=_GAIN),
    images_per_class=8192,
    batch=64,
    steps=4000,
    learning_rate=2e-3,
    weight_decay=0.3,
    averaging=0.995,
    data_noise=0.05,
    sampling_steps=25,
    saves=46,
    classifier_steps=1500,
)

#: Small, told of colour with a fourth of the gain: the images are the same, what the network
#: reads of their colours is fainter. Whether the order of learning turns elsewhere tells signals
#: of images from those of conditions.
QUIET = replace(
    SMALL,
    name="quiet",
    contrasts=(0.45, 0.6, 0.8, 1.0),
    seeds=(0, 1, 2),
    layout=replace(SMALL.layout, gain=(2.5, 1.0, 1.0, 1.0)),
)

#: Only shows that everything works: too short to learn much.
TINY = replace(
    SMALL,
    name="tiny",
    contrasts=(0.2, 0.8),
    seeds=(0,),
    images_per_class=256,
    batch=32,
    steps=300,
    sampling_steps=20,
    generated_images=16,
    saves=11,
    classifier_steps=400,
    classifier_images=512,
    classifier_channels=16,
)

PRESETS = {one.name: one for one in (TINY, SMALL, QUIET, PAPER)}


def preset_of(name: object) -> Preset:
    """One of the presets.

    Parameters
    ----------
    name : {"tiny", "small", "quiet", "paper"}

    Returns
    -------
    Preset

    Raises
    ------
    InvalidInput

    Examples
    --------
    >>> preset_of("small").pixels, preset_of("paper").layout.channels
    (16, (64, 128, 256))
    """
    if not isinstance(name, str) or name not in PRESETS:
        raise InvalidInput("preset", name, "must be tiny, small, quiet or paper")
    return PRESETS[name]
