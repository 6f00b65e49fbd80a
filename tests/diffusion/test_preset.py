"""Presets and layouts: what is refused, what is written and read, and what a study is named by."""

import json
import math
from dataclasses import replace

import pytest

from swingby.diffusion.preset import PAPER, PRESETS, SMALL, TINY, Layout, Preset, preset_of
from swingby.errors import InvalidInput


@pytest.mark.parametrize("name", PRESETS)
def test_through_json_and_back(name):
    preset = preset_of(name)
    again = Preset.from_dict(json.loads(json.dumps(preset.to_dict())))
    assert again == preset
    assert hash(again) == hash(preset)


def test_the_presets_keep_what_was_asked_for():
    for one in PRESETS.values():
        assert one.save_steps[0] == 0
        assert one.save_steps[-1] == one.steps
        assert len(one.save_steps) == one.saves
    # FACTS, section 5, and App. G: what the paper says.
    assert (PAPER.pixels, PAPER.images_per_class, PAPER.steps) == (32, 2048, 20_000)
    assert (PAPER.layout.channels, PAPER.layout.blocks, PAPER.layout.heads) == (
        (64, 128, 256), 2, 4,
    )  # fmt: skip
    assert (PAPER.learning_rate, PAPER.weight_decay, PAPER.batch) == (1e-3, 0.01, 128)
    assert (PAPER.gamma_min, PAPER.gamma_max, PAPER.data_noise) == (-5.0, 10.0, 1e-3)
    assert (PAPER.generated_images, PAPER.averaging, PAPER.layout.norm) == (32, 0, "layer")
    assert PAPER.learned_schedule


def test_steps_of_the_saves():
    assert replace(TINY, steps=12, saves=4).save_steps == (0, 1, 5, 12)
    # 20 (k/10)^2 rounded, each once.
    assert replace(TINY, steps=20, saves=11).save_steps == (0, 1, 2, 3, 5, 7, 10, 13, 16, 20)
    assert replace(TINY, steps=0).save_steps == (0,)


NO_NUMBERS = (math.nan, "many", None, True, [1])
WRONG = {
    Preset: {
        **{name: (*NO_NUMBERS, least - 1, least + 0.5, 10**400) for name, least in (
            ("pixels", 8), ("images_per_class", 1), ("batch", 1), ("steps", 0),
            ("sampling_steps", 1), ("generated_images", 1), ("saves", 2),
        )},
        **dict.fromkeys(("learning_rate", "data_noise"), (*NO_NUMBERS, 0, -0.001, 10 ** 400)),
        "weight_decay": (*NO_NUMBERS, -1e-9),
        "averaging": (*NO_NUMBERS, -0.1, 1, "0.99999999999999999999999"),
        "momentum": (*NO_NUMBERS, -0.1, 1, 0.5),
        "gamma_max": (*NO_NUMBERS, 10**400, -6.0),
        "optimizer": ("adam", None, 1),
        "learned_schedule": (1, None, "yes"),
        "precision": ("float64", 32, None),
        "name": ("", "two words", 3, None, "../up"),
        "layout": (None, {}, "group", Layout(centre=(0.0,), gain=(1.0,))),
    },
    Layout: {
        "channels": ((), 8, None, "88", (0,), (8.5,), (True,), (12,)),
        **dict.fromkeys(("blocks", "groups", "patch"), (*NO_NUMBERS, 0)),
        "heads": (*NO_NUMBERS, -1, 3),
        "embedding": (*NO_NUMBERS, 0, 7),
        "norm": ("batch", None, 1),
        "reads_condition": (1, None, "yes"),
        "centre": ((), None, 1.0, ("x",), (math.nan,) * 4, (True,) * 4),
        "gain": ((), None, 1.0, ("x",), (math.nan,) * 4, (1.0,)),
    },
}  # fmt: skip


@pytest.mark.parametrize("kind", WRONG)
def test_wrong_input_is_named(kind):
    right = SMALL if kind is Preset else Layout((8, 16))
    for name, values in WRONG[kind].items():
        for value in values:
            with pytest.raises(InvalidInput) as caught:
                replace(right, **{name: value})
            assert caught.value.argument == name, value


def test_images_and_channels_that_cannot_be_divided():
    # Two levels of squares of 2 by 2 need a multiple of 4; five levels one of 32.
    deep = Layout((8,) * 5, patch=2)
    with pytest.raises(InvalidInput, match=r"^pixels must be a multiple of 32, got 16"):
        replace(SMALL, layout=deep)
    assert replace(SMALL, layout=deep, pixels=32).pixels == 32
    with pytest.raises(InvalidInput, match=r"^channels must be multiples of 3"):
        Layout((8, 16), groups=3)
    for name in ("huge", None, ["tiny"]):
        with pytest.raises(InvalidInput, match=r"^preset must be tiny, small or paper"):
            preset_of(name)
