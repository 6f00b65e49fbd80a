"""The palette of the explorer: read on its paper, and told apart by colour-blind readers."""

import itertools
import re
from importlib import resources

import numpy as np
import pytest

STYLE = resources.files("swingby.lab.explorer").joinpath("page/style.css").read_text("utf-8")
#: Linear RGB as seen without one kind of cone (Machado, Oliveira and Fernandes 2009, severity 1).
SIGHT = {
    "all cones": np.eye(3),
    "protanopia": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "deuteranopia": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "tritanopia": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
}
#: sRGB to XYZ over the white of D65.
XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
XYZ /= XYZ.sum(axis=1, keepdims=True)


def schemes():
    """The colours by name, light first: what the dark scheme does not say, it takes from it."""
    light, dark = re.findall(r":root \{(.*?)\}", STYLE, re.DOTALL)
    colours = [dict(re.findall(r"--(\w+): (#\w{6});", text)) for text in (light, dark)]
    return {"light": colours[0], "dark": colours[0] | colours[1]}


def linear(colour):
    values = np.array([int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)])
    return np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)


def lab(colour, sight):
    """CIE L*a*b* as somebody sees a colour."""
    x, y, z = np.cbrt(XYZ @ np.clip(np.asarray(sight) @ linear(colour), 1e-4, 1))
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def contrast(first, second):
    """The ratio of WCAG 2."""
    low, high = sorted(float(np.dot([0.2126, 0.7152, 0.0722], linear(c))) for c in (first, second))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_names_in_pictures_are_legible(scheme):
    """axe does not look into pictures."""
    colours = schemes()[scheme]
    names = [name for name in colours if re.fullmatch(r"[cm]\d|soft|ink", name)]
    assert len(names) == 9
    for name in names:
        assert contrast(colours[name], colours["paper"]) >= 4.5, name


@pytest.mark.parametrize("sight", SIGHT)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_lines_differ_for_everybody(scheme, sight):
    """Of one kind, full or dashed; a difference of 2 is seen side by side, of 10 at a glance."""
    colours = schemes()[scheme]
    for kind in "cm":
        names = [name for name in colours if re.fullmatch(rf"{kind}\d", name)]
        for first, second in itertools.combinations(names, 2):
            apart = lab(colours[first], SIGHT[sight]) - lab(colours[second], SIGHT[sight])
            assert np.linalg.norm(apart) > 10, (first, second)
