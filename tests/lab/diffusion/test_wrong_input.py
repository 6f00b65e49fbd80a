"""Input that makes no sense is refused by its name."""

import math
from dataclasses import replace

import numpy as np
import pytest

from studies.image_plan import Prediction
from studies.image_study import Study
from swingby.errors import InvalidInput
from swingby.lab.diffusion import default_plan, figure_rows, judge, preset_of
from swingby.lab.diffusion.circles import Circles, read_circles
from swingby.lab.diffusion.course import (
    Cell,
    Course,
    bend,
    directions,
    learning_times,
    linear_response,
    responses,
)
from swingby.lab.diffusion.preset import SMALL, Layout
from swingby.lab.diffusion.signals import measure, rates
from swingby.lab.diffusion.vectors import VectorSetting
from swingby.theory.task import SIMTask

NAN, INF = math.nan, math.inf
NO_NUMBERS = (NAN, INF, "many", None, True, [0.5])
NOT_POSITIVE = (*NO_NUMBERS, 0, -0.001, 10**400)
NOT_WHOLE = (*NO_NUMBERS, -1, 8.5, 10**400)
NO_WORDS = ("Linear", "", None, 3, ["sgd"])
NOT_BOOLEAN = (0, 1, None, "yes")
PLAN = default_plan()
KINDS = np.eye(7)[np.full((2, 4), 5)]
COURSE = Course(Cell(0.4, 0.5, 1.0, "sgd"), 0, [0, 10], np.zeros((2, 2, 2)), KINDS, [1, 1])
VECTORS = VectorSetting(SIMTask([1, 2], "1/20"), eta=0.05, steps=3, width=4)
TURNED = SIMTask([1, 2], rotation=np.eye(2))
#: A record, and values that its fields refuse.
FIELDS = (
    (Circles(0.5), {
        "contrast": (*NOT_POSITIVE, 1.0001, "1e-400"), "separation": (*NOT_POSITIVE, 0.6),
        "pixels": (*NOT_WHOLE, 0, 7, 12, 136), "noise": (*NO_NUMBERS, -1e-9, 1.5),
    }),
    (SMALL, {
        **dict.fromkeys(("images_per_class", "batch", "sampling_steps", "generated_images"),
                        (*NOT_WHOLE, 0)),
        "pixels": (*NOT_WHOLE, 7), "saves": (*NOT_WHOLE, 1), "steps": NOT_WHOLE,
        **dict.fromkeys(("learning_rate", "data_noise"), NOT_POSITIVE),
        "weight_decay": (*NO_NUMBERS, -1e-9), "gamma_max": (*NO_NUMBERS, 10**400, -6.0),
        "averaging": (*NO_NUMBERS, -0.1, 1, "0.99999999999999999999999"),
        "momentum": (*NO_NUMBERS, -0.1, 1, 0.5), "learned_schedule": NOT_BOOLEAN,
        "optimizer": NO_WORDS, "precision": NO_WORDS, "name": ("two words", "../up", *NO_WORDS[1:]),
        "layout": (None, {}, "group", Layout(centre=(0.0,), gain=(1.0,))),
    }),
    (Layout((8, 16)), {
        "channels": ((), 8, None, "88", (0,), (8.5,), (True,), (12,)), "norm": NO_WORDS,
        **dict.fromkeys(("blocks", "groups", "patch"), (*NOT_WHOLE, 0)),
        "heads": (*NOT_WHOLE, 3), "embedding": (*NOT_WHOLE, 0, 7), "reads_condition": NOT_BOOLEAN,
        "centre": ((), None, 1.0, ("x",), (NAN,) * 4, (True,) * 4),
        "gain": ((), None, 1.0, ("x",), (NAN,) * 4, (1.0,)),
    }),
    (PLAN, {
        "name": ("two words", None), "preset": ("small",), "seeds": (0, 1000), "first_seed": (-1,),
        "separation": ((), (0.4, 0.2), (0.9,)), "contrast": ((0.0,), 0.5), "gain": ((1, 1), (-1,)),
        "optimizers": ((), PLAN.optimizers * 2, 3, ("sgd",)), "share": (0, 1, NAN),
        "within": (1, INF), "predictions": ((), PLAN.predictions[:1] * 2, (3,), 3),
    }),
    (COURSE.cell, {
        "separation": (0, 0.6), "contrast": (1.5,), "gain": (0,), "optimizer": NO_WORDS,
    }),
    (COURSE, {
        "cell": ("0.5",), "seed": (0.5, -1), "steps": ([0, 0], [5, 3], [-1, 3], [0, 0.5]),
        "w": (np.zeros((2, 2)), np.full((2, 2, 2), INF), np.full((2, 2, 2), 1e7)),
        "kinds": (0 * KINDS, KINDS + 0.5, np.tile([2, -1, 0, 0, 0, 0, 0], (2, 4, 1)), KINDS[:1]),
        "loss": ([1, NAN], [1]),
    }),
    (VECTORS, {
        "task": (None, [1, 2], SIMTask([1, 2], dim=3), SIMTask.from_signal([2, 1]), TURNED,
                 SIMTask([1] * 17)),
        **dict.fromkeys(("denoiser", "reads", "activation"), NO_WORDS),
        "omega": (*NOT_POSITIVE, "1e-400"), "antithetic": NOT_BOOLEAN, "seed": (*NOT_WHOLE, 2**64),
        "eta": tuple(one for one in NOT_POSITIVE if one is not None),
        **dict.fromkeys(("batch", "steps", "sample_steps"), (*NOT_WHOLE, 0)),
    }),
)  # fmt: skip


@pytest.mark.parametrize(("right", "fields"), FIELDS, ids=lambda one: type(one).__name__)
def test_fields(right, fields):
    for name, values in fields.items():
        for value in values:
            with pytest.raises(InvalidInput) as caught:
                replace(right, **{name: value})
            assert caught.value.argument == name, value


def test_a_class_is_named_with_its_article():
    with pytest.raises(InvalidInput, match=r"^cell must be an ImageCell, got 3$"):
        replace(COURSE, cell=3)
    with pytest.raises(InvalidInput, match=r"^preset must be a Preset, got 3$"):
        replace(PLAN, preset=3)


CLASSES = ((4,), (-1,), (), (0, 1.5), ("red",), 3, None, (True,))
MANY = (*NOT_WHOLE, 0, 700_000)
CALLS = {
    "n_per_class": [lambda one=one: Circles(0.5).draw(one) for one in MANY],
    "classes": [lambda one=one: Circles(0.5).draw(2, classes=one) for one in CLASSES],
    "rng": [lambda one=one: Circles(0.5).draw(2, rng=one) for one in (-1, 1.5, "red", [[0.5]])],
    "kind": [lambda one=one: Circles(0.5).conditions(one, 2) for one in (4, -1, 0.5, "red", None)],
    "n": [lambda one=one: Circles(0.5).conditions(0, one) for one in (*NOT_WHOLE, 0)],
    "label": [lambda one=one: Circles(0.5).means(one) for one in (3, (0, 2), (0,), "01", None)],
    "grounds": [
        lambda one=one: Circles(0.5).paint(np.zeros((1, 4)), np.zeros((1, 2)), one)
        for one in (3, np.zeros((1, 2)), np.zeros((2, 3)))
    ],
    "pixels": [
        lambda one=one: read_circles(one, Circles(0.5, 16))
        for one in (np.zeros((1, 3, 8, 8)), np.zeros((3, 16, 16)), np.full((1, 3, 16, 16), NAN))
    ],
    "circles": [lambda: read_circles(np.zeros((1, 3, 16, 16)), 0.5), lambda: directions(0.5),
                lambda: measure(0.5)],
    "representation": [lambda: measure(Circles(0.5), "words")],
    "samples": [
        lambda: measure(Circles(0.5), samples=3), lambda: measure(Circles(0.5), samples=True),
        lambda: linear_response(np.zeros((4, 1, 2)), np.ones((2, 2, 3))),
        lambda: linear_response(np.full((4, 1, 2), NAN), np.ones((2, 2, 2))),
        lambda: linear_response("samples", np.ones((2, 2, 2))),
    ],
    "gain": [
        lambda one=one: measure(Circles(0.5), "condition", gain=one)
        for one in ((1, 1, 1), (1, 1, 1, 0), 3)
    ],
    "signal": [lambda: rates(Circles(0.5), SMALL, "words"),
               lambda: Prediction("x", "order", "", "", "words")],
    "along": [lambda: linear_response(np.ones((4, 1, 2)), np.zeros((2, 2, 2)))],
    "course": [lambda: responses(None), lambda: learning_times(3),
               lambda: Course.from_dict({"cell": {}})],
    "corner": [lambda: responses(COURSE, "left")],
    "path": [lambda: bend([1, 2])],
    "cell": [lambda: Course.from_dict({**COURSE.to_dict(), "cell": {"gain": 1}}),
             lambda: PLAN.preset_of("cell"),
             lambda: replace(PLAN, optimizers=PLAN.optimizers[:1]).preset_of(PLAN.cells[-1])],
    "preset": [lambda one=one: preset_of(one) for one in ("huge", None, ["tiny"])],
    "study": [lambda: judge("study"), lambda: figure_rows("study")],
    "kind of a row": [lambda: judge(Study(PLAN, (), {})).of("times", "adam")],
    "plan": [lambda: Study("plan", (), {})],
    "courses": [lambda: Study(PLAN, 3, {}), lambda: Study(PLAN, (3,), {}),
                lambda: Study(PLAN, (COURSE,), {})],
    "says": [lambda: Prediction("", "composed"), lambda: Prediction("two\nlines", "composed")],
    "kind of a prediction": [lambda: Prediction("x", "later")],
    "concept": [lambda: Prediction("x", "sooner"), lambda: Prediction("x", "sooner", "hue", "gain"),
                lambda: Prediction("x", "order", "size", "", "condition"),
                lambda: Prediction("x", "composed", "size")],
    "factor": [lambda: Prediction("x", "sooner", "colour")],
    "signal of a prediction": [lambda: Prediction("x", "times", "size", "gain"),
                               lambda: Prediction("x", "sooner", "size", "gain", "condition")],
    "lr and eta": [lambda: replace(VECTORS, lr=0.1), lambda: replace(VECTORS, eta=None)],
    "width": [lambda: replace(VECTORS, denoiser="linear"),
              *(lambda one=one: replace(VECTORS, width=one) for one in (0, 2.5, "x", 10**30))],
    "denoiser": [lambda one=one: replace(VECTORS, denoiser=one, reads="both")
                 for one in ("symmetric", "mlp")],
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_calls(name):
    for call in CALLS[name]:
        with pytest.raises(InvalidInput) as caught:
            call()
        assert caught.value.argument == name.partition(" of ")[0]


def test_images_and_channels_that_cannot_be_divided():
    # Two levels of squares of 2 by 2 need a multiple of 4; five levels one of 32.
    deep = Layout((8,) * 5, patch=2)
    with pytest.raises(InvalidInput, match=r"^pixels must be a multiple of 32, got 16"):
        replace(SMALL, layout=deep)
    assert replace(SMALL, layout=deep, pixels=32).pixels == 32
    with pytest.raises(InvalidInput, match=r"^channels must be multiples of 3"):
        Layout((8, 16), groups=3)


@pytest.mark.torch
def test_vectors_that_cannot_be_trained():
    pytest.importorskip("torch")
    from swingby.lab.diffusion.vectors import compare_vectors, predict_vectors, train_vectors

    for call in (train_vectors, predict_vectors, compare_vectors):
        for value in (None, [], (), "x", 3, [VECTORS, None], {}):
            with pytest.raises(InvalidInput, match=r"^settings "):
                call(value)
    with pytest.raises(InvalidInput, match="fit into memory"):
        train_vectors(replace(VECTORS, steps=1_000_000, width=1000))
    with pytest.raises(InvalidInput, match=r"^settings "):
        train_vectors([VECTORS, replace(VECTORS, steps=4)])
    run = train_vectors(replace(VECTORS, denoiser="mlp"))
    for name, call in (
        ("product", lambda: run.product), ("least", lambda: run.descents(0)),
        *(("step", lambda one=one: run.sampled(one)) for one in (-1, 4, NAN)),
        ("n", lambda: run.sampled(1, 1)), ("steps", lambda: run.sampled(1, steps=0)),
        ("seed", lambda: run.sampled(1, seed=-1)),
    ):  # fmt: skip
        with pytest.raises(InvalidInput, match=f"^{name} "):
            call()
