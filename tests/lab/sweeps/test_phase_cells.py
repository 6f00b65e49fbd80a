"""Phase diagrams and disagreements: against a second count with pandas, and rows by hand."""

import json
import math
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from swingby.errors import InvalidInput
from swingby.lab.sweeps.axis import axis_of
from swingby.lab.sweeps.grid import SweepGrid
from swingby.lab.sweeps.quantity import quantity
from swingby.lab.sweeps.sweep import sweep
from swingby.lab.sweeps.sweep_result import SweepResult
from tests.lab.sweeps.phase_rows import by_hand, row

CONTENT = {
    "signal": [[4, 1], [4, 2], [2, 1], [4, 3]],
    "omega": ["1e-1", "1e-2", "1e-3", "1e301"],
    "eta": [0.1, 0.25],
    "width": [1, 2],
    "dynamics": ["euler", "gd"],
}


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    """A store with failed points; its larger grid has missing ones."""
    path = tmp_path_factory.mktemp("phase") / "out"
    sweep({**CONTENT, "seeds": 3}, out=path, workers=0, progress=False)
    return SweepResult(path, SweepGrid(**CONTENT, seeds=4))


def test_pixels_are_the_groups_of_the_frame(measured):
    """A second implementation: the exported frame, grouped by pandas."""
    diagram = measured.phase_diagram("omega", "a_1/a_2", where={"dynamics": "euler"})
    assert diagram.x.values == ("0.001", "0.01", "0.1", "1e301")
    assert diagram.y.values == ("4/3", "2", "4")
    # Two of the four signals have the ratio 2.
    assert diagram.pooled == {"signal": 4, "eta": 2, "width": 2, "seed": 4}
    frame = measured.to_frame()
    frame = frame[frame.dynamics == "euler"].copy()
    frame["ratio"] = frame.a_1 / frame.a_2
    cells = diagram.cells
    assert cells.done.shape == (3, 4)
    for up, ratio in enumerate((4 / 3, 2, 4)):
        for across, omega in enumerate(diagram.x.values):
            here = frame[(frame.omega == omega) & np.isclose(frame.ratio, ratio)]
            done = here[here.status == "done"]
            place = (up, across)
            tasks = 2 if ratio == 2 else 1
            assert cells.done[place] == len(done)
            assert cells.failed[place] == len(here) - len(done)
            assert cells.missing[place] == 4 * tasks  # one of four seeds, two eta, two widths
            for which in ("predicted", "observed"):
                counts = done[which].value_counts().to_dict()
                found = dict(zip(cells.labels, getattr(cells, which)[place], strict=True))
                assert {name: n for name, n in found.items() if n} == counts
            decided = done[(done.predicted != "undecided") & (done.observed != "unfinished")]
            assert cells.decided[place] == len(decided)
            assert cells.agreed[place] == (decided.predicted == decided.observed).sum()
            if len(done):
                np.testing.assert_equal(cells.margin[place], done.margin.median())
            else:
                assert np.isnan([cells.margin[place], cells.swing_by[place]]).all()
                assert cells.most_descents[place] == -1
    assert cells.failed.sum() > 0


def test_a_store_without_a_grid_gives_the_same_pixels(measured):
    grids = None, SweepGrid(**CONTENT, seeds=3)
    results = [SweepResult(measured.store, grid).phase_diagram().to_dict() for grid in grids]
    assert results[0] == results[1]


def test_numbers_of_a_pixel_by_hand(tmp_path):
    grid = SweepGrid(signal=[[2, 1]], omega=["1e-3"], eta=[0.1, 0.2], seeds=5)
    measured = [
        row(margin=math.inf, descents=2, predicted_descents=2),
        row("out_of_order", "in_order", margin=0.5, descents=2, predicted_descents=None),
        row("undecided", "out_of_order", margin=None, descents=1, predicted_descents=1),
        row(observed="unfinished", margin=3, descents=5),
        None,
        # The second step size: margins 1, 1, 4, inf; as many runs of one descent as of three.
        row(margin=1, descents=3),
        row(margin=math.inf, descents=1),
        row(margin=4, descents=3),
        row(margin=1, descents=1),
    ]
    diagram = by_hand(tmp_path / "a", grid, measured).phase_diagram()
    cells = diagram.cells
    assert (diagram.x.name, diagram.y) == ("eta", None)
    assert cells.done.tolist() == [4, 4]
    assert cells.failed.tolist() == [1, 0]
    assert cells.missing.tolist() == [0, 1]
    assert cells.decided.tolist() == [2, 4]
    assert cells.agreed.tolist() == [1, 4]
    assert cells.disagreement.tolist() == [0.5, 0]
    assert cells.margin.tolist() == [3, 2.5]
    assert cells.least_margin.tolist() == [0.5, 1]
    # Runs that ended: 2, 2, 1 descents; 3, 1, 3, 1. The 5 of an unfinished run do not count.
    assert cells.ended.tolist() == [3, 4]
    assert cells.swing_by.tolist() == [2 / 3, 0.5]
    assert cells.descents.tolist() == [5 / 3, 2]
    assert cells.most_descents.tolist() == [2, 1]
    # The law told 2 and 1, could not tell once, and said nothing four times.
    assert cells.told.tolist() == [2, 0]
    assert cells.predicted_swing_by[0] == 0.5
    assert cells.predicted_descents[0] == 1.5
    assert np.isnan(cells.predicted_descents[1])
    label, share = cells.majority("predicted")
    assert [cells.labels[one] for one in label] == ["in_order", "in_order"]
    assert share.tolist() == [0.5, 1]
    assert cells.share("observed", "out_of_order").tolist() == [0.25, 0]
    found = diagram.agreement
    assert (found.agreed, found.decided, found.undecided, found.unfinished) == (5, 6, 1, 1)
    assert (found.failed, found.missing, found.total) == (1, 1, 10)


def test_quantities_that_a_point_lacks_are_left_out(tmp_path):
    grid = SweepGrid(signal=[[4, 2], [4, 0], [4, 2, 1]], omega="1e-3", eta=[0.1, 0.2])
    result = by_hand(tmp_path / "a", grid, [row()] * 6)
    ratio = result.phase_diagram("a_1/a_2", "eta")
    assert (ratio.x.values, ratio.left_out) == (("2",), 2)  # a_2 = 0 has no ratio
    assert result.phase_diagram("a_3", "eta").left_out == 4
    assert result.phase_diagram("dimension", "eta").x.values == ("2", "3")
    assert result.phase_diagram("signal", "eta").x.values == ("(4, 0)", "(4, 2)", "(4, 2, 1)")
    with pytest.raises(InvalidInput, match="x must have a value at some point"):
        result.phase_diagram("mu_1")


def test_where_takes_numbers_as_a_grid_does(measured):
    whole = measured.phase_diagram("omega", "a_1/a_2", where={"eta": "0.25"})
    for value in (0.25, Fraction(1, 4), "1/4"):
        other = measured.phase_diagram("omega", "a_1/a_2", where={"eta": value})
        assert other.to_dict() == whole.to_dict()
    assert whole.fixed["eta"] == "0.25"
    assert whole.cells.done.sum() * 2 == measured.phase_diagram().cells.done.sum()
    one = measured.phase_diagram(where={"signal": [4, 1], "seed": 0, "width": 2})
    assert one.fixed["signal"] == "(4, 1)"
    assert (one.x.name, one.y.name) == ("omega", "eta")
    assert one.agreement.total == 16


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"x": "omgea"}, "x must name a quantity of the sweep; these vary: omega, a_1/a_2, a_1,"),
        ({"x": "half_time_9"}, "x must name a quantity"),
        *(
            ({"where": {"margin": value}}, r"where\[margin\] must be a .*number")
            for value in (math.nan, math.inf, [1], 1j)
        ),
        ({"where": {"margin": None}}, r"where\[margin\] must be given"),
        ({"x": "eta", "y": "eta"}, "y must be another quantity than x"),
        ({"where": {"eta": 0.3}}, "must be a value of the sweep: 0.1, 0.25, got 0.3"),
        ({"where": {"etta": 0.3}}, "where must name a quantity of the sweep; these vary"),
        ({"where": {"eta": "x"}}, r"where\[eta\] must be a value of the sweep: 0.1, 0.25, got x"),
        ({"where": "eta=0.1"}, "where must be a dict"),
        ({"where": {"signal": 4}}, "must be a vector"),
        ({"where": {"signal": "(2, 1)", "a_1": 4}}, "must be a value of the sweep: 2, got 4"),
        ({"bins": 0}, "bins must be at least 1"),
    ],
)
def test_wrong_input(measured, arguments, words):
    with pytest.raises(InvalidInput, match=words):
        measured.phase_diagram(**arguments)


def axis(name, *texts):
    return axis_of(quantity(name), sorted(Fraction(one) for one in texts))


def test_axes_take_the_scale_on_which_values_are_even():
    assert axis("eta", "0.01", "0.02", "0.03").scale == "linear"
    assert axis("eta", "0.01", "0.02", "0.04", "0.08").scale == "log"
    assert axis("omega", "1e-3", "1e-1", "1e-2").values == ("0.001", "0.01", "0.1")
    below = axis("omega", "1e-400", "1e-402", "1e-401")
    assert (below.scale, below.places) == ("log", (-402, -401, -400))
    assert below.edges == (-402.5, -401.5, -400.5, -399.5)
    # 300 decades beside three: the pixels would not be seen.
    assert axis("omega", "1e-300", "1e-6", "1e-3").scale == "ordered"
    assert axis("sigma_1", "0", "0.5", "1").edges == (-0.25, 0.25, 0.75, 1.25)
    assert axis("omega", "1e-400").edges == (-400.5, -399.5)
    # Floats that lie next to each other.
    assert axis("sigma_1", 0.1, np.nextafter(0.1, 1), 10**308).scale == "ordered"


def test_plain_values(measured):
    diagram = measured.phase_diagram()
    plain = json.loads(json.dumps(diagram.to_dict(), allow_nan=False))
    assert plain["shape"] == [3, 4]
    assert plain["pixels"]["omega"][:4] == ["0.001", "0.01", "0.1", "1e301"]
    frame = diagram.to_frame()
    assert len(frame) == 12
    assert frame.done.sum() == diagram.cells.done.sum()
    assert frame.loc[frame.done == 0, "margin"].isna().tolist() == [True]
    assert frame.loc[5, "a_1/a_2"] == "2"
    text = str(diagram)
    assert "predicted as observed:" in text
    assert "y: a_1/a_2 = 4/3, 2, 4" in text
    assert "pooled: " in text
    assert repr(diagram).startswith("<PhaseDiagram over omega, a_1/a_2: 4 x 3 pixels")


def test_columns_of_ones_own_are_axes_labels_and_panels(measured):
    """Counted again with pandas: a label is a plain function of the frame."""

    def late(times):
        return lambda frame: np.where(frame[f"{times}_2"] > 40, "late", "early")

    result = measured.assign(
        predicted=late("predicted_half_time"),
        observed=late("half_time"),
        fast=lambda frame: frame.half_time_1 < 20,
    )
    frame = measured.to_frame()
    frame = frame[frame.status == "done"]
    said, seen = (
        np.where(frame[f"{name}_2"] > 40, "late", "early")
        for name in ("predicted_half_time", "half_time")
    )
    expected = pd.Series(zip(said, seen, strict=True)).value_counts().to_dict()
    labels = result.status().labels
    assert labels == expected
    assert {"early", "late"} <= {label for pair in labels for label in pair}
    worst = result.disagreements(None)
    assert worst.total == len(worst) == (said != seen).sum()
    diagram = result.phase_diagram("fast", "eta", where={"omega": "1e-2"})
    assert diagram.x.values == ("0", "1")
    assert diagram.cells.done.sum() == (frame.omega == "0.01").sum()
    here = frame[(frame.omega == "0.01") & (frame.eta == "0.25") & (frame.half_time_1 < 20)]
    assert diagram.median("transient")[1, 1] == here.transient.median()
    titles = [ax.get_title(loc="left") for ax in diagram.plot(["observed", "transient"]).axes]
    assert titles[:2] == ["observed label", "transient, median"]
    for column, words in {
        "broken": (lambda frame: frame.omgea, "broken must be a function of the frame.*omgea"),
        "complex": (lambda frame: frame.eta.map(len) * 1j, "complex must be a function.*float"),
        "lists": (lambda frame: [[1]] * len(frame), "lists must be a function of the frame"),
        "descents": (lambda frame: "many", "descents must be a function of the frame"),
        "status": (lambda frame: "done", "assign must not be a column that says which point"),
        "a_1": (lambda frame: 1.0, "assign must not be a column that says which point"),
        "signal": (lambda frame: "weak", "assign must not be a column that says which point"),
        "swing_by": (lambda frame: 1.0, "assign must not be .* or what a diagram counts"),
    }.items():
        with pytest.raises(InvalidInput, match=words[1]):
            measured.assign(**{column: words[0]}).phase_diagram(column)
    with pytest.raises(InvalidInput, match="name must be a column of numbers, got outcome"):
        diagram.median("outcome")


def test_columns_as_pandas_masks_and_bins_them(measured):
    """Counted again with pandas; a name may begin as a vector does, and nothing is no value."""
    frame = measured.to_frame()
    frame = frame[frame.status == "done"]
    ends = [0, 0.05, 1, 2, 10, np.inf]
    result = measured.assign(
        binned=lambda frame: pd.cut(frame.transient, ends),
        masked=lambda frame: (frame.half_time_1 > 20).astype("boolean").where(frame.seed > 0),
        named=lambda frame: np.where(frame.half_time_1 > 20, "(late)", "(1, early)"),
        said=lambda frame: 1.0,
    )
    counts = pd.cut(frame.transient, ends).value_counts(sort=False)
    counts = counts[counts > 0]
    assert len(counts) > 2
    diagram = result.phase_diagram("binned", "dynamics")
    assert diagram.x.values == tuple(map(str, counts.index))
    assert diagram.cells.done.sum(axis=0).tolist() == counts.tolist()
    late = frame.half_time_1 > 20
    masked = result.phase_diagram("masked", "dynamics")
    assert masked.x.values == ("0", "1")
    assert masked.cells.done[..., 1].sum() == (late & (frame.seed > 0)).sum()
    assert masked.left_out == (measured.to_frame().seed == 0).sum()
    named = result.phase_diagram("named", "dynamics")
    assert named.x.values == ("(1, early)", "(late)")
    assert named.cells.done[..., 1].sum() == late.sum()
    assert str(result.descents()) == str(measured.descents())


def test_a_name_may_look_like_a_number(tmp_path):
    grid = {"signal": [[4]], "omega": 1e-3, "eta": 0.1, "dynamics": ["gd", "flow"]}
    result = sweep(grid, out=tmp_path / "one", workers=0, progress=False)
    assert set(result.to_frame()["order"]) == {"1"}
    assert result.disagreements(where={"order": "1"}).agreement.total == 2


def test_any_column_is_an_axis(measured):
    frame = measured.to_frame()
    frame = frame[frame.status == "done"]
    diagram = measured.phase_diagram("descents", "outcome")
    assert set(diagram.y.values) == set(frame.outcome)
    counts = frame.groupby(["outcome", "descents"]).size().unstack(fill_value=0)
    counts = counts.reindex(diagram.y.values)
    assert diagram.cells.done.tolist() == counts.to_numpy().tolist()
    assert set(diagram.to_frame()["descents"]) == set(diagram.x.values)
    binned = measured.phase_diagram("smallest_pivot", bins=6)
    assert binned.cells.done.sum() == np.isfinite(frame.smallest_pivot).sum()


GRID = SweepGrid(signal=[[2, 1]], omega=["1e-3", "1e-400"], eta=0.1, seeds=5)
TIMES = {"predicted_half_times": [100, math.inf], "error": [2, None], "half_times": [110, math.inf]}


@pytest.fixture
def result(tmp_path):
    measured = [
        row(),
        row("out_of_order", margin=0.5, **TIMES),
        row("out_of_order", margin=3, **TIMES),
        row("undecided", "trapped", margin=50),
        row("in_order", "unfinished", margin=60),
        row("trapped", margin=math.inf, smallest_pivot=0),
        row("out_of_order", margin=3, **TIMES),
        row("in_order", "diverged", margin=None, outcome="lost_psd"),
        None,
    ]
    return by_hand(tmp_path / "a", GRID, measured)


def test_the_surest_comes_first(result):
    found = result.disagreements()
    assert [one.place for one in found] == [5, 2, 6, 1, 7]
    assert [one.margin for one in found][:4] == [math.inf, 3, 3, 0.5]
    assert math.isnan(found.rows[4].margin)
    assert (found.total, found.agreement.decided, found.agreement.agreed) == (5, 6, 1)
    assert (found.agreement.undecided, found.agreement.unfinished) == (1, 1)
    assert (found.agreement.failed, found.agreement.missing) == (1, 1)
    assert [one.place for one in result.disagreements(2)] == [5, 2]
    assert result.disagreements(2).total == 5
    assert result.disagreements(None).to_dict() == found.to_dict()
    assert [one.place for one in result.disagreements(where={"omega": "1e-400"})] == [5, 6, 7]


def test_without_a_grid_the_rows_are_the_same(result):
    found = SweepResult(result.store).disagreements()
    assert found.to_dict()["rows"] == result.disagreements().to_dict()["rows"]
    assert found.agreement.missing == 0
    part = SweepResult(result.store).disagreements(where={"omega": "1e-400"})
    assert [one.place for one in part] == [5, 6, 7]
    assert part.agreement.failed == 1


def test_the_table_of_disagreements(result):
    text = result.disagreements(3).to_text(width=200)
    assert "5 disagreements, the 3 of largest margin" in text
    assert "gd a=(2,1) omega=1e-400 eta=0.1 d'=2 seed=1" in text
    assert "100 +- 2 -> 110; never -> never" in text
    assert "predicted as observed: 1 of 6 decided points (16.67%" in text
    assert "not counted: 1 undecided, 1 unfinished, 1 failed, 1 missing" in text
    plain = json.loads(json.dumps(result.disagreements().to_dict(), allow_nan=False))
    assert plain["rows"][0]["margin"] == "inf"
    assert plain["rows"][0]["point"]["omega"] == "1e-400"
    assert plain["rows"][4]["margin"] is None
    frame = result.disagreements().to_frame()
    assert frame.predicted.value_counts().to_dict() == {
        "out_of_order": 3,
        "trapped": 1,
        "in_order": 1,
    }


@pytest.mark.parametrize(
    ("results", "words"),
    [
        (row("in_order", "out_of_order", margin=0.99), "margin below 1"),
        # 110 - 100 = 10 steps, of which one is the rounding of steps, over a bar of 2.
        (row("out_of_order", margin=3, **TIMES), "half-time 1 is 4.5 error bars off"),
        (
            row("out_of_order", margin=3, **{**TIMES, "half_times": [101, math.inf]}),
            "no half-time is more than a step off",
        ),
        (
            row("out_of_order", margin=3, **{**TIMES, "half_times": [110, 110]}),
            "observed at the same step",
        ),
        (row("in_order", "diverged", outcome="diverged"), "W left the float range"),
        (
            row("trapped", "diverged", outcome="lost_psd", smallest_pivot=1e-9),
            "W lost positive semidefiniteness; the smallest pivot is 1e-09 of its terms",
        ),
        (row("trapped", smallest_pivot=0), "only rounding is left of the smallest pivot"),
        (row("diverged", smallest_pivot=-0.25), "predicted from a negative pivot, -0.25"),
        (row("trapped", smallest_pivot=0.5), ""),
    ],
)
def test_why_a_point_disagrees(tmp_path, results, words):
    (found,) = by_hand(tmp_path / "a", GRID, [results]).disagreements()
    assert found.why.startswith(words)
    assert bool(found.why) == bool(words)


def test_disagreements_that_do_not_exist(result):
    with pytest.raises(InvalidInput, match="limit must be at least 1"):
        result.disagreements(0)
    words = r"where\[omega\] must be a value of the sweep: 1e-400, 0.001, got 1"
    with pytest.raises(InvalidInput, match=words):
        result.disagreements(where={"omega": 1})
