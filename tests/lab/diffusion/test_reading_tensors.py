"""Circles measured from tensors: as from arrays, on the device of the tensor."""

import numpy as np
import pytest

from swingby.errors import InvalidInput
from swingby.lab.diffusion.circles import EMPTY, NOISE, Circles, read_circles
from tests.lab.diffusion.conftest import pictures

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch


def same(reading, expected):
    """The same kinds, and numbers that agree far within what they are known to."""
    assert reading.kind.tolist() == expected.kind.tolist()
    for name in ("radius", "colour", "centre"):
        error = getattr(expected, f"{name}_error")
        off = np.abs(getattr(reading, name) - getattr(expected, name))
        assert (off <= 1e-3 * error + 1e-9).all()
        assert getattr(reading, f"{name}_error") == pytest.approx(error, rel=1e-3)


READ = [(0.3, 0.2, 16, 30), (0.75, 0.4, 16, 20), (0.3, 0.4, 32, 6), (0.5, 0.4, 8, 40)]


@pytest.mark.parametrize(("contrast", "separation", "pixels", "n"), READ)
def test_tensors_are_read_as_arrays_are(contrast, separation, pixels, n):
    circles = Circles(contrast, pixels, separation=separation)
    images = pictures(circles, n, seed=pixels)
    expected = read_circles(images, circles)
    assert {*expected.kind} >= {0, 1, 2, 3, EMPTY, NOISE}
    devices = ["cpu", "cuda"] if torch.cuda.is_available() else ["cpu"]
    for device in devices:
        tensor = torch.from_numpy(images).to(device).requires_grad_()
        with torch.autocast(device, torch.bfloat16):
            reading = read_circles(tensor, circles)
        same(reading, expected)
        assert isinstance(reading.radius, np.ndarray)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_tensor_that_is_not_finite_is_refused(value):
    with pytest.raises(InvalidInput, match="pixels"):
        read_circles(torch.full((1, 3, 16, 16), value), Circles(0.5, 16))
    for shape in [(0, 3, 16, 16), (1, 3, 8, 8), (3, 16, 16)]:
        with pytest.raises(InvalidInput, match="pixels"):
            read_circles(torch.zeros(shape), Circles(0.5, 16))
