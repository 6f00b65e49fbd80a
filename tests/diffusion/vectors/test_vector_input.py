"""What makes no sense is refused in words."""

from dataclasses import replace

import numpy as np
import pytest

from swingby.errors import InvalidInput
from swingby.theory.task import SIMTask

pytest.importorskip("torch")

from swingby.diffusion.vectors import VectorSetting, compare_vectors, predict_vectors, train_vectors

pytestmark = pytest.mark.torch

NAN, INF = float("nan"), float("inf")
TASK = SIMTask([1, 2], "1/20")
BASE = VectorSetting(TASK, eta=0.05, steps=3, width=4)

NOT_POSITIVE = (0, NAN, INF, "x", True, "1e-400")
NOT_WHOLE = (0, 2.5, NAN, "x", True, 10**30)
NOT_WORDS = ("Linear", 3, None, ["linear"])
TURNED = SIMTask([1, 2], rotation=np.eye(2))
FIELDS = {
    "task": (None, 1, [1, 2], SIMTask([1, 2], dim=3), SIMTask.from_signal([2, 1]), TURNED),
    "denoiser": NOT_WORDS,
    "reads": NOT_WORDS,
    "activation": NOT_WORDS,
    "omega": (*NOT_POSITIVE, None),
    "eta": NOT_POSITIVE,
    "width": NOT_WHOLE,
    "batch": (*NOT_WHOLE, None),
    "steps": (*NOT_WHOLE, None),
    "sample_steps": (*NOT_WHOLE, None),
    "seed": (-1, 2.5, NAN, "x", True, None, 2**64),
    "antithetic": (0, 1, None, "yes"),
}
CASES = [(name, value) for name, values in FIELDS.items() for value in values]


@pytest.mark.parametrize(("name", "value"), CASES)
def test_fields(name, value):
    with pytest.raises(InvalidInput, match=f"^{name}"):
        replace(BASE, **{name: value})


@pytest.mark.parametrize(
    "change",
    [
        {"lr": 0.1},
        {"eta": None},
        {"denoiser": "linear"},
        {"denoiser": "symmetric", "reads": "both"},
        {"denoiser": "mlp", "reads": "both"},
        {"task": SIMTask([1] * 17)},
    ],
)
def test_fields_that_do_not_go_together(change):
    with pytest.raises(InvalidInput):
        replace(BASE, **change)


@pytest.mark.parametrize("call", [train_vectors, predict_vectors, compare_vectors])
@pytest.mark.parametrize("value", [None, [], (), "x", 3, [BASE, None], {}])
def test_settings(call, value):
    with pytest.raises(InvalidInput, match=r"^settings "):
        call(value)


@pytest.mark.parametrize(
    "given",
    [{"step": -1}, {"step": 4}, {"step": 1, "n": 1}, {"step": 1, "steps": 0},
     {"step": 1, "seed": -1}, {"step": NAN}],
)  # fmt: skip
def test_samples(given):
    with pytest.raises(InvalidInput):
        train_vectors(BASE).sampled(**given)


def test_what_a_run_refuses():
    with pytest.raises(InvalidInput, match="fit into memory"):
        train_vectors(replace(BASE, steps=1_000_000, width=1000))
    with pytest.raises(InvalidInput, match=r"^settings "):
        train_vectors([BASE, replace(BASE, steps=4)])
    run = train_vectors(replace(BASE, denoiser="mlp"))
    with pytest.raises(InvalidInput, match=r"^product "):
        _ = run.product
    with pytest.raises(InvalidInput, match=r"^least "):
        run.descents(0)


def test_numbers_are_read_exactly():
    assert replace(BASE, omega="1e-3").omega == 1e-3
    # softplus(5) - softplus(-10)
    assert BASE.clock == pytest.approx(5.006669949589901, rel=1e-14)
    assert replace(BASE, eta="1/50").step == pytest.approx(0.02, rel=1e-15)
    assert replace(BASE, denoiser="symmetric").rate == pytest.approx(BASE.rate / 2, rel=1e-15)
