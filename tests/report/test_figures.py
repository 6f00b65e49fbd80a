"""Figures for a paper: nothing outside the canvas, fonts embedded, no title, one legend."""

import functools
import itertools
import logging
import operator

import matplotlib
import numpy as np
import pytest

matplotlib.use("Agg")

from matplotlib import pyplot as plt
from matplotlib.legend import Legend
from matplotlib.text import Text

import swingby
from swingby import InvalidInput
from tests import results
from tests.forked import FULL, sample
from tests.own_theory import small

NAMES = ("check", "check that fails", "check, repaired", "schedule", "schedule from omega")
NAMES += ("run", "comparison", "training run", "ledger", "phase diagram")


def words(figure):
    """Every text that is drawn, with its box in inches; ticks past the axes are not drawn."""
    drawn, usual = {}, Text.draw
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Text, "draw", lambda one, pen: (drawn.setdefault(one), usual(one, pen)))
        figure.canvas.draw()
    for one in drawn:
        if one.get_visible() and one.get_text().strip():
            yield one, one.get_window_extent().transformed(figure.dpi_scale_trans.inverted())


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("size", sample(["column", "text", (2.8, 2.2)]))
def test_nothing_is_outside_the_canvas_and_no_words_overlap(name, size):
    figure = results.result(name).plot(size=size)
    figure = getattr(figure, "figure", figure)  # a phase diagram has many axes
    width, height = figure.get_size_inches()
    assert (width, height) == {"column": (3.25, 2.4), "text": (6.75, 3.0)}.get(size, size)
    assert_inside(figure)
    assert not figure.axes[0].get_title()


def several_modes():
    """A network of five modes, whose names in a legend are long."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((60, 6)) * [3, 2.5, 2, 1.5, 1, 0.7]
    Y = X @ rng.standard_normal((6, 5))
    weights = [0.1 * rng.standard_normal((6, 6)), 0.1 * rng.standard_normal((5, 6))]
    return swingby.predict_network(weights, lr=0.01, X=X, Y=Y)


#: Every picture of a result.
PICTURES = {
    **{name: functools.partial(results.result, name) for name in NAMES},
    **{
        name: functools.partial(results.result, name)
        for name in ("check of a matrix", "network", "network comparison", "watch")
    },
    "several modes": several_modes,
    "four concepts": lambda: comparison(4),
    "leading": lambda: swingby.predict([4, 1], results.W0, eta=0.01, accuracy="leading"),
    "theory": lambda: swingby.compare(small.decay),
    "theory, sweep": lambda: swingby.sweep(small.decay, {"h": 3}),
    "theory, map": lambda: swingby.sweep(small.decay, {"h": 3, "x0": 3}),
}


@pytest.mark.parametrize("name", PICTURES)
@pytest.mark.parametrize("size", ["column", "text", 5.5, "240pt"])
def test_everything_drawn_lies_inside_the_figure(name, size):
    result = PICTURES[name]()
    methods = [getattr(result, method, None) for method in ("plot", "plot_losses")]
    for method in filter(None, methods):
        figure = method(size=size)
        figure = getattr(figure, "figure", figure)
        figure.draw_without_rendering()
        renderer, (width, height) = figure._get_renderer(), figure.get_size_inches()
        for drawn in (*figure.axes, *figure.legends, *figure.findobj(Legend)):
            box = drawn.get_tightbbox(renderer).transformed(figure.dpi_scale_trans.inverted())
            assert box.x0 >= 0, (drawn, box)
            assert box.y0 >= 0, (drawn, box)
            assert box.x1 <= width, (drawn, box)
            assert box.y1 <= height, (drawn, box)
        boxes = [ax.get_window_extent() for ax in figure.axes]
        assert max(box.height for box in boxes) / figure.dpi >= 0.45 * height
        assert sum(box.width for box in boxes) / figure.dpi >= 0.35 * width


def test_the_rows_of_half_times_are_named_by_their_concepts():
    axes = PICTURES["leading"]().plot(size="column")
    assert [tick.get_text() for tick in axes.get_yticklabels()] == ["$w_{11}$", "$w_{22}$"]
    assert axes.get_ylabel() == "half-time of"
    assert not axes.figure.legends
    levels = [line.get_ydata()[0] for line in axes.lines if line.get_marker() == "v"]
    assert levels == [0, 1]


@pytest.mark.parametrize(
    ("size", "inches"),
    [
        (3.25, (3.25, 2.4)),
        (np.float32(5), (5, 2.7)),
        ("240pt", (240 / 72.27, 2.4 + 0.6 * (240 / 72.27 - 3.25) / 3.5)),
        ("83 mm", (83 / 25.4, 2.4 + 0.6 * (83 / 25.4 - 3.25) / 3.5)),
        (2, (2, 2.4)),
        ("17cm", (17 / 2.54, 2.4 + 0.6 * (17 / 2.54 - 3.25) / 3.5)),
        (("83mm", 2), (83 / 25.4, 2)),
        ((24, 12), (24, 12)),
    ],
)
def test_a_size_is_a_width_in_inches_or_with_a_unit(size, inches):
    figure = results.result("check").plot(size=size).figure
    assert figure.get_size_inches() == pytest.approx(inches)


@pytest.mark.parametrize("method", ["plot", "schedule.plot"])
@pytest.mark.parametrize("concepts", [12, *[16] * FULL, *sample([1, 2, 5])])
@pytest.mark.parametrize("size", ["column", "text"])
def test_pictures_of_one_and_of_many_concepts_have_room(method, concepts, size):
    assert_inside(operator.attrgetter(method)(comparison(concepts))(size=size).figure)


@pytest.mark.parametrize("size", ["column", "text"])
def test_an_axis_of_one_power_of_ten_has_more_than_one_number(size):
    drawn = swingby.compare([4, 1], [[2e-3, 1e-3], [1e-3, 2e-3]], eta=0.01).plot(size=size)
    first, last = drawn.get_xlim()
    assert sum(first <= tick <= last for tick in drawn.get_xticks()) > 1
    assert_inside(drawn.figure)


def test_a_bar_too_short_to_be_seen_has_its_verdict():
    report = swingby.check([4, 1], omega="1e-80", eta="1e-4")
    assert 0 < report["D.5"].margin < 0.01
    assert [one.get_text().strip() for one in report.plot().texts].count("holds") == 2  # with D.1


@functools.cache
def comparison(concepts):
    """Predicted against observed for signals 1, 2, 3 and so on."""
    signal = list(range(1, concepts + 1))
    W0 = swingby.gaussian(concepts, 1e-6, rng=0)
    return swingby.compare(signal, W0, eta=0.01, dynamics="gd")


def assert_inside(figure):
    """No word is outside the canvas, none overlaps another."""
    width, height = figure.get_size_inches()
    found = list(words(figure))
    for one, box in found:
        inside = box.x0 >= 0 and box.y0 >= 0 and box.x1 <= width and box.y1 <= height
        assert inside, (one.get_text(), box)
    for (one, first), (other, second) in itertools.combinations(found, 2):
        apart = first.x1 < second.x0 or second.x1 < first.x0
        apart = apart or first.y1 < second.y0 or second.y1 < first.y0
        assert apart, (one.get_text(), other.get_text(), first, second)
    assert len(figure.findobj(Legend)) <= 1


@pytest.mark.parametrize("name", ["check", "comparison"])
def test_fonts_are_embedded_as_truetype_and_nothing_is_said(name, tmp_path, caplog, recwarn):
    figure = results.result(name).plot(size="column").figure
    with caplog.at_level(logging.WARNING):
        figure.savefig(tmp_path / "a.pdf")
    assert not caplog.records
    # An old matplotlib calls a new pyparsing by old names.
    assert not [said for said in recwarn if said.category is UserWarning]
    content = (tmp_path / "a.pdf").read_bytes()
    assert b"/TrueType" in content or b"/CIDFontType2" in content
    assert b"/Type3" not in content


@pytest.mark.parametrize("size", ["wide", (3,), (0.1, 2), ("a", "b"), 84, True, "5em"])
def test_another_size_is_refused(size):
    with pytest.raises(InvalidInput, match=r'size must be "column", "text", a width or'):
        results.result("run").plot(size=size)


def test_a_size_without_room_is_refused():
    with pytest.raises(InvalidInput, match="panels must be at most 2 where size is 'column'"):
        results.result("phase diagram").plot(["predicted", "observed", "margin"], size="column")


def test_axes_have_a_size_already():
    with pytest.raises(InvalidInput, match="not be given together with ax"):
        results.result("run").plot(plt.figure().add_subplot(), size="text")
