"""Pictures of phase diagrams, read back from the figure."""

import math
import re
from fractions import Fraction
from itertools import pairwise
from math import log10

import numpy as np
import pytest
from matplotlib.collections import LineCollection, PathCollection, QuadMesh
from matplotlib.colors import to_rgb
from matplotlib.patches import PathPatch

from swingby.errors import InvalidInput
from swingby.lab.sweeps import phases
from swingby.lab.sweeps.axis import axis_of, ticks
from swingby.lab.sweeps.grid import SweepGrid
from swingby.lab.sweeps.phase_diagram import (
    FAILED,
    PALEST,
    PANELS,
    STYLES,
    default_panels,
    lightness,
)
from swingby.lab.sweeps.quantity import log10_of, quantity
from swingby.lab.sweeps.store import StoreWriter
from swingby.lab.sweeps.sweep import sweep
from swingby.lab.sweeps.sweep_result import SweepResult
from tests.forked import sample
from tests.lab.sweeps.phase_rows import by_hand, row
from tests.report.test_figures import assert_inside

GRID = SweepGrid(signal=[[4, 2], [4, 1]], omega=["1e-2", "1e-1", "1"], eta="0.1", seeds=2)
#: Edges of the pixels of the two ratios, 2 and 4, on a logarithmic axis.
HALF = round(log10(2), 12)
RATIOS = [HALF * number for number in (0.5, 1.5, 2.5)]


@pytest.fixture
def diagram(tmp_path):
    """Ratio 2: in order, mixed, failed. Ratio 4: trapped, half failed, missing."""
    measured = [
        *(row(margin=5), row(margin=5)),
        *(row(margin=0.5), row(observed="out_of_order", margin=0.7)),
        *(None, None),
        *(
            row("trapped", "trapped", margin=math.inf, descents=2),
            row("trapped", "trapped", margin=3),
        ),
        *(None, row("undecided", margin=None)),
    ]
    return by_hand(tmp_path / "a", GRID, measured).phase_diagram()


def panel(figure, title):
    return next(ax for ax in figure.axes if ax.get_title(loc="left") == title)


def pixels(ax):
    (mesh,) = (one for one in ax.collections if isinstance(one, QuadMesh))
    return np.asarray(mesh.get_array()), mesh.get_coordinates()


def test_every_pixel_has_the_colour_of_its_label(diagram):
    colors, corners = pixels(panel(diagram.plot(["observed"]), "observed label"))
    order, trapped = (np.array(to_rgb(STYLES[name].color)) for name in ("in_order", "trapped"))
    assert colors[0, 0] == pytest.approx(order)
    # Half of the points are in order: as pale as can be, and the first label of the two.
    assert colors[0, 1] == pytest.approx(PALEST * order + 1 - PALEST)
    assert colors[0, 2] == pytest.approx(to_rgb(FAILED.color))
    assert colors[1, 0] == pytest.approx(trapped)
    assert colors[1, 1] == pytest.approx(order)  # the point that did not fail
    assert colors[1, 2].tolist() == [1, 1, 1]
    assert corners[0, :, 0].tolist() == [-2.5, -1.5, -0.5, 0.5]  # log10 of omega
    assert corners[:, 0, 1].tolist() == pytest.approx(RATIOS)


def test_failed_and_hatched_pixels_are_marked(diagram):
    ax = panel(diagram.plot(["observed"]), "observed label")
    assert [(one.get_text(), one.get_position()) for one in ax.texts] == [("2", (0, HALF))]
    (hatched,) = (one for one in ax.patches if isinstance(one, PathPatch))
    assert hatched.get_hatch() == STYLES["trapped"].hatch
    assert hatched.get_path().get_extents().extents == pytest.approx(
        (-2.5, RATIOS[1], -1.5, RATIOS[2])
    )


def test_the_line_of_margin_one_runs_between_pixels(diagram):
    """Margins 5 | 0.6 | - over inf | - | -: one line, between the first two."""
    ax = panel(diagram.plot(["margin"]), "predicted margin, median")
    lines = [one for one in ax.collections if isinstance(one, LineCollection)]
    (segment,) = [segment for one in lines for segment in one.get_segments()]
    assert segment == pytest.approx(np.array([[-1.5, RATIOS[0]], [-1.5, RATIOS[1]]]))


def test_panels(diagram, tmp_path):
    titles = [ax.get_title(loc="left") for ax in diagram.plot(PANELS).axes]
    assert sum(map(bool, titles)) == len(PANELS)
    assert default_panels(diagram)[-2:] == ("swing_by", "descents")
    assert len(default_panels(diagram)) == 6
    told = by_hand(tmp_path / "b", GRID, [row(predicted_descents=2)] * 12).phase_diagram()
    assert len(default_panels(told)) == 8
    assert "predicted_swing_by" in default_panels(told)
    for wrong in (["predictde"], "x", [], 3, ["outcome"]):
        with pytest.raises(InvalidInput, match="panels must") as said:
            diagram.plot(wrong)
        with pytest.raises(InvalidInput) as again:
            diagram.save_picture(tmp_path / "x.png", wrong)
        assert str(again.value) == str(said.value)


def test_legend_says_what_is_drawn(diagram):
    texts = [one.get_text() for one in diagram.plot(["observed"]).legends[0].get_texts()]
    expected = ["in order", "trapped", "pale: points differ", "failed", "no run"]
    assert texts == expected
    texts = [one.get_text() for one in diagram.plot(["disagreement"]).legends[0].get_texts()]
    assert texts == ["no number", "failed", "no run"]


def test_labels_read_in_grey():
    """Labels differ in hatch, and neighbours of the ladder in lightness as well."""
    hatches = [style.hatch for style in STYLES.values()]
    assert len(set(hatches)) == len(hatches)
    assert len({style.marker for style in STYLES.values()}) == len(STYLES)
    shades = [lightness(STYLES[name].color) for name in STYLES if name != "unfinished"]
    assert all(light - dark > 0.1 for light, dark in pairwise(shades))


def assert_room(figure):
    """Words are apart and on the canvas, and the legend covers no panel."""
    assert_inside(figure)
    boxes = [legend.get_window_extent() for legend in figure.legends]
    assert not any(ax.get_tightbbox().overlaps(box) for ax in figure.axes for box in boxes)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["1e-7", "0.002", "4/3"], "1e-7 0.002 4/3"),
        ([f"1e{k}" for k in range(-30, 1)], "1e-24 1e-16 1e-8 1e0"),
        ([f"{k}e{e}" for e in (-400, -399) for k in range(1, 10)], "1e-400 1e-399"),
        ([f"{k}e{e}" for e in (400, 401) for k in range(1, 10)], "1e400 1e401"),
        ([f"{1.2**k:.4g}" for k in range(-9, 12)], "0.2 0.5 1 2 5"),
        ([f"{1.1**k:.4g}" for k in range(15)], "1 1.2 1.5 2 2.5 3"),
        ([f"{k}" for k in range(10, 21)], "10 12.5 15 17.5 20"),
    ],
)
def test_ticks_are_values_or_round_numbers(values, expected):
    """Few values have a tick each; many get round ones, also beyond the float range."""
    axis = axis_of(quantity("omega"), sorted(map(Fraction, values)))
    marks = ticks(axis, axis.edges[0], axis.edges[-1], across=False)
    texts = [re.sub(r"\$.*10\^{(.*)}}\$", r"1e\1", text) for text in marks.values()]
    assert texts == expected.split()
    values = [Fraction(text) for text in texts]
    places = values if axis.scale == "linear" else [log10_of(value) for value in values]
    assert [*marks] == pytest.approx(places)


AXES = [
    {"omega": ["1e-4", "1e-3", "1e-2", "3e-2", "0.3"], "eta": [0.01, 0.05, 0.1, 0.2]},
    {"omega": ["1e-300", "1e-6", "1e-3", "1e-1", "1e200"], "width": [1, 2, 3, 8]},
    {"omega": [f"1e-{k}" for k in range(1, 60)], "eta": [f"0.0{k}" for k in range(11, 25)]},
    {"omega": ["0.123456", "0.1234567", "0.1234568"], "eta": ["1/3", "2/7", "1/70"]},
    {"omega": "1e-5", "eta": "0.1"},
    {"omega": ["1e-5", "1e-4"], "dynamics": ["euler", "gd", "flow"]},
    {"omega": [f"{k}e-1" for k in range(1, 30)]},
]


@pytest.mark.parametrize("content", sample(AXES, 4))
def test_nothing_overlaps(tmp_path, content):
    grid = SweepGrid(**{"signal": [[3, 2, 1]], "eta": 0.1, **content})
    labels = ["in_order", "out_of_order", "trapped", "diverged", "unfinished"]
    measured = [row(observed=labels[place % 5]) for place in range(len(grid))]
    found = by_hand(tmp_path / "a", grid, measured).phase_diagram()
    assert_room(found.plot())


RANDOM = {
    "design": "random",
    "points": 60,
    "signal": {"low": "0.5", "high": "4", "dim": 2},
    "omega": {"low": "1e-400", "high": "1e-3", "spacing": "log"},
    "eta": [0.1, 0.2],
    "seeds": 2,
    "dynamics": "gd",
}


@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    path = tmp_path_factory.mktemp("drawn") / "out"
    return sweep(RANDOM, out=path, workers=0, progress=False)


def test_every_draw_is_a_sign(drawn):
    diagram = drawn.phase_diagram()
    assert (diagram.x.name, diagram.y.name, diagram.shape) == ("omega", "a_1/a_2", (60,))
    assert diagram.scattered
    assert (diagram.cells.done == 2).all()
    # The exact numbers of the frame, draw by draw.
    frame = drawn.to_frame()
    expected = {(one.omega, round(one.a_1 / one.a_2, 9)) for one in frame.itertuples()}
    places = zip(diagram.x.values, 10 ** np.array(diagram.y.places), strict=True)
    assert {(omega, round(ratio, 9)) for omega, ratio in places} == expected
    logs = dict(zip(frame.omega, frame.log10_omega, strict=True))
    assert diagram.x.places == tuple(logs[value] for value in diagram.x.values)
    ax = panel(diagram.plot(["observed"]), "observed label")
    signs = [one for one in ax.collections if isinstance(one, PathCollection)]
    assert sum(len(one.get_offsets()) for one in signs) == 60
    assert_room(diagram.plot())
    without = SweepResult(drawn.store).phase_diagram()
    assert without.to_dict()["pixels"].keys() == diagram.to_dict()["pixels"].keys()
    assert without.scattered


def test_bins_hold_every_draw_once(drawn, monkeypatch):
    frame = drawn.to_frame()
    diagram = drawn.phase_diagram(bins=4)
    assert diagram.shape == (4, 4)
    edges = np.linspace(frame.log10_omega.min(), frame.log10_omega.max(), 5)
    assert diagram.x.edges == pytest.approx(tuple(edges))
    expected, _ = np.histogram(frame.log10_omega, edges)
    assert diagram.cells.done.sum(axis=0).tolist() == expected.tolist()
    assert diagram.cells.done.sum() == 120
    monkeypatch.setattr(phases, "MOST_DRAWS", 59)
    assert drawn.phase_diagram().shape == (5, 5)
    # A quantity that was not drawn from a range keeps its values.
    assert drawn.phase_diagram("omega", "eta").shape == (2, 5)
    assert drawn.phase_diagram("omega", "eta").y.values == ("0.1", "0.2")


def test_one_quantity_gives_stacked_shares(tmp_path):
    grid = SweepGrid(signal=[[2, 1]], omega=["1e-2", "1e-3"], eta="0.1", seeds=4)
    measured = [row(), row(), row("trapped", "diverged"), None, row(), row(margin=math.inf)]
    diagram = by_hand(tmp_path / "a", grid, measured).phase_diagram()
    figure = diagram.plot()
    bars = panel(figure, "observed label").patches
    found = {(bar.get_x(), bar.get_y(), bar.get_height(), bar.get_hatch()) for bar in bars}
    hatch = STYLES["diverged"].hatch
    # Omega 1e-3: two of four in order, two missing; 1e-2: two in order, one diverged, one failed.
    expected = {(-3.5, 0, 0.5), (-2.5, 0, 0.5), (-2.5, 0.5, 0.25), (-2.5, 0.75, 0.25)}
    assert {bar[:3] for bar in found if bar[2]} == expected
    assert (-2.5, 0.5, 0.25, hatch) in found
    assert_room(figure)


def test_no_points_at_all(tmp_path):
    StoreWriter(tmp_path / "empty").begin({})
    empty = SweepResult(tmp_path / "empty")
    diagram = empty.phase_diagram()
    assert diagram.agreement.total == 0
    assert "no point is decided" in str(diagram)
    diagram.save_picture(tmp_path / "a.png")
    missing = SweepResult(tmp_path / "empty", GRID).phase_diagram()
    assert missing.cells.missing.tolist() == [[2, 2, 2], [2, 2, 2]]
    missing.save_picture(tmp_path / "b.pdf", ["predicted", "margin"])
    colors, _ = pixels(panel(missing.plot(["observed"]), "observed label"))
    assert (colors == 1).all()
    assert empty.phase_diagram("eta", "width", where={"seed": 3}).shape == (0, 0)
    assert not len(empty.disagreements())
