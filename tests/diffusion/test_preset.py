"""Presets and layouts: what is refused, what is written and read, and what a study is named by."""

import json
import math
from dataclasses import replace

import pytest

from swingby.diffusion.preset import PAPER, PRESETS, SMALL, TINY, Layout, Preset, preset_of
from swingby.errors import InvalidInput

NO_NUMBERS = (math.nan, math.inf, "many", None, True, [1])
HUGE = 10**400


def wrong_numbers():
    least = {
        "pixels": 8, "images_per_class": 1, "batch": 1, "steps": 0, "sampling_steps": 1,
        "generated_images": 1, "saves": 2,
    }  # fmt: skip
    for name, smallest in least.items():
        for value in (*NO_NUMBERS, smallest - 1, smallest + 0.5, HUGE):
            yield name, value
    for name in ("learning_rate", "data_noise"):
        for value in (*NO_NUMBERS, 0, -1e-3, HUGE, "1e-400"):
            yield name, value
    for value in (*NO_NUMBERS, -1e-9, HUGE):
        yield "weight_decay", value
    for value in (*NO_NUMBERS, -0.1, 1, 1.5, "0.99999999999999999999999"):
        yield "averaging", value
    for value in (*NO_NUMBERS, HUGE, -HUGE):
        yield "gamma_min", value
        yield "gamma_max", value
    yield "gamma_max", -6.0
    for value in (*NO_NUMBERS, -0.1, 1):
        yield "momentum", value
    yield "momentum", 0.5  # of adamw
    for value in ("adam", None, 1):
        yield "optimizer", value
    for value in (1, None, "yes"):
        yield "learned_schedule", value
    for value in ("float64", 32, None, ""):
        yield "precision", value
    for value in ("", "two words", 3, None, "../up"):
        yield "name", value
    for value in (None, {}, "group", Layout(centre=(0.0,), gain=(1.0,))):
        yield "layout", value
    yield "pixels", 12
    yield "pixels", 256


def shown(value):
    return str(value)[:20].replace("/", "_")


@pytest.mark.parametrize(("name", "value"), [*wrong_numbers()], ids=shown)
def test_what_a_preset_refuses(name, value):
    with pytest.raises(InvalidInput) as caught:
        replace(SMALL, **{name: value})
    # One of a pair may be named by the other.
    known = {name, "gamma_max"} if name == "gamma_min" else {name}
    assert caught.value.argument in known


def test_images_that_cannot_be_halved_often_enough():
    # Two levels of squares of 2 by 2 need a multiple of 4; five levels one of 32.
    deep = Layout((8,) * 5, patch=2)
    with pytest.raises(InvalidInput, match=r"^pixels must be a multiple of 32, got 16"):
        replace(SMALL, layout=deep)
    assert replace(SMALL, layout=deep, pixels=32).pixels == 32


LAYOUTS = [
    *[("channels", value) for value in ((), 8, None, "88", (0,), (8.5,), (True,), (12,))],
    *[("blocks", value) for value in (*NO_NUMBERS, 0)],
    *[("heads", value) for value in (*NO_NUMBERS, -1, 3)],
    *[("groups", value) for value in (*NO_NUMBERS, 0)],
    *[("embedding", value) for value in (*NO_NUMBERS, 0, 1, 7)],
    *[("patch", value) for value in (*NO_NUMBERS, 0)],
    *[("norm", value) for value in ("batch", None, 1, "")],
    *[("reads_condition", value) for value in (1, None, "yes")],
    *[
        (name, value)
        for name in ("centre", "gain")
        for value in ((), None, 1.0, ("x",), (math.nan,) * 4, (HUGE,) * 4, (True,) * 4)
    ],
    ("gain", (1.0,)),
]


@pytest.mark.parametrize(("name", "value"), LAYOUTS, ids=shown)
def test_what_a_layout_refuses(name, value):
    with pytest.raises(InvalidInput) as caught:
        Layout(**{"channels": (8, 16), name: value})
    assert caught.value.argument == ("channels" if name == "groups" and value == 3 else name)


def test_groups_that_do_not_divide_the_channels():
    with pytest.raises(InvalidInput, match=r"^channels must be multiples of 3"):
        Layout((8, 16), groups=3)
    assert Layout((7,), norm="layer", heads=0).channels == (7,)


@pytest.mark.parametrize("name", PRESETS)
def test_through_json_and_back(name):
    preset = preset_of(name)
    again = Preset.from_dict(json.loads(json.dumps(preset.to_dict())))
    assert again == preset
    assert hash(again) == hash(preset)


@pytest.mark.parametrize("name", ["huge", "", None, 3, ["tiny"]])
def test_presets_are_called_by_name(name):
    with pytest.raises(InvalidInput, match=r"^preset must be tiny, small or paper"):
        preset_of(name)


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


def edited(**changes):
    plain = json.loads(json.dumps(TINY.to_dict()))
    for name, value in changes.items():
        if value is KeyError:
            del plain[name]
        else:
            plain[name] = value
    return plain


@pytest.mark.parametrize(
    "plain",
    [
        None, [], "tiny", 3, {}, edited(steps=KeyError), edited(extra=1), edited(layout=None),
        edited(layout={}), edited(layout={**TINY.to_dict()["layout"], "extra": 1}),
        edited(layout={**TINY.to_dict()["layout"], "channels": "16"}), edited(steps="many"),
        edited(steps=math.nan), edited(gamma_max=HUGE), edited(name=3),
    ],
    ids=shown,
)  # fmt: skip
def test_what_cannot_be_a_preset(plain):
    with pytest.raises(InvalidInput):
        Preset.from_dict(plain)
