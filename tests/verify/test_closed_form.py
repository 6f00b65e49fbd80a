"""The closed form beside a prediction: from minors of W(0), whose ratios are the pivots."""

import itertools
import math

import mpmath
import numpy as np
import pytest

from swingby import (
    InvalidInput,
    Scaled,
    SIMTask,
    compare,
    predict,
    predict_batch,
    predict_gaussian,
)

W0 = np.array([[3e-3, 1e-3, 2e-4], [1e-3, 2e-3, -5e-4], [2e-4, -5e-4, 1e-3]])
GROWTH = {
    "gd": lambda a, eta: 2 * math.log(1 + eta * a),
    "euler": lambda a, eta: math.log(1 + 2 * eta * a),
    "flow": lambda a, eta: 2 * eta * a,
}


def minors(matrix, order):
    """Pivots of LDL^T in an order of concepts, as ratios of leading minors."""
    ordered = mpmath.matrix(matrix[np.ix_(order, order)].tolist())
    sizes = [mpmath.mpf(1), *(mpmath.det(ordered[: k + 1, : k + 1]) for k in range(len(order)))]
    return [float(after / before) for before, after in itertools.pairwise(sizes)]


@pytest.mark.parametrize("dynamics", GROWTH)
@pytest.mark.parametrize("a", [(4.0, 2.0, 1.0), (1.0, 4.0, 2.0)])
@pytest.mark.parametrize("omega", [1, "1e-400"])
def test_closed_form_is_log_pivot_over_growth(a, omega, dynamics):
    order = np.argsort(-np.array(a))
    expected = np.empty(3)
    for k, pivot in zip(order, minors(W0, order), strict=True):
        log_pivot = math.log(pivot) + float(mpmath.log(omega))
        expected[k] = -log_pivot / GROWTH[dynamics](a[k], 0.01)
    start = W0 if omega == 1 else Scaled(W0, omega)
    schedule = predict(a, start, eta=0.01, dynamics=dynamics)
    np.testing.assert_allclose(schedule.closed_form, expected, rtol=1e-12)


def test_the_example_of_the_readme():
    """80.75 and 328.35, by hand: -ln(.002)/ln(1.08) and -ln(.0015)/ln(1.02)."""
    table = compare([4, 1], [[2e-3, 1e-3], [1e-3, 2e-3]], eta=0.01, dynamics="euler")
    half = table.to_frame().query("event == 'half'")
    assert half.closed_form.round(2).tolist() == [80.75, 328.35]
    assert half.observed.tolist() == [81.0, 329.0]
    text = str(table)
    assert "closed form" in text
    assert "80.75" in text
    assert table.to_frame().query("event != 'half'").closed_form.isna().all()
    assert table.to_frame(unit="eta t").closed_form[0] == pytest.approx(0.8075, abs=5e-5)


def test_where_there_is_no_pivot_there_is_no_closed_form():
    matrix = [[1e-3, 1e-3, 0], [1e-3, 1e-3, 0], [0, 0, 2.0]]
    times = predict(SIMTask.from_signal([4, 1, 2]), matrix, eta=0.01, dynamics="gd").closed_form
    assert times[0] == pytest.approx(math.log(1e3) / 2 / math.log(1.04))
    assert math.isnan(times[1])
    assert times[2] == 0
    schedule = predict(SIMTask.from_signal([4, 1, 2]), matrix, eta=0.01, dynamics="gd")
    expected = [math.log(1e-3), math.nan, math.log(2)]
    np.testing.assert_allclose(schedule.log_pivots, expected, rtol=1e-12)
    assert predict([4, 1], omega="1e-6", eta=0.01, dynamics="gd").log_pivots is None
    free = predict([4, 0], np.eye(2) * 1e-3, eta=0.01, dynamics="gd").closed_form
    assert free[1] == math.inf


@pytest.mark.parametrize("start", [{"W0": np.eye(2) * 1e-3}, {"omega": "1e-3"}])
def test_where_the_law_is_out_of_its_range_there_is_none(start):
    large = predict([4, 0], eta=0.13, dynamics="gd", **start)  # eta a_max = .52
    assert math.isnan(large.closed_form[0])
    assert large.closed_form[1] == math.inf
    assert predict([4, 0], eta=0.12, dynamics="gd", **start).closed_form[0] > 0


def test_without_a_start_it_is_that_of_the_median_pivot():
    """The first pivot of U(0) U(0)^T of width 2 is omega chi2_2 / 2, of median omega log 2."""
    schedule = predict([4, 1], omega="1e-6", eta=0.01, dynamics="gd")
    assert schedule.closed_form[0] == pytest.approx(
        -math.log(1e-6 * math.log(2)) / 2 / math.log(1.04)
    )
    times = predict_gaussian([4, 1], 5**0.5 * 1e-4, 2, eta=0.01, dynamics="gd")
    assert times.closed_form[0] == pytest.approx(-math.log(1e-7 * math.log(2)) / 2 / math.log(1.04))


@pytest.mark.parametrize("dynamics", GROWTH)
def test_the_leading_law_alone(dynamics):
    """As in a batch; half-times without bars, and nothing else."""
    a, options = (4.0, 2.0, 1.0), {"eta": 0.01, "dynamics": dynamics, "accuracy": "leading"}
    schedule = predict(a, W0, **options)
    assert schedule.crossing.tolist() == predict_batch(a, W0, **options).crossing.tolist()
    if dynamics != "euler":  # where pivots drift from stage to stage
        np.testing.assert_allclose(schedule.crossing, schedule.closed_form, rtol=1e-12)
    assert schedule.half_times.tolist() == np.ceil(schedule.crossing).tolist()
    assert np.isnan(schedule.error).all()
    assert np.isnan(predict_batch(a, W0, **options).error).all()
    assert [event.event for event in schedule.events] == ["half"] * 3
    assert "leading order" in str(schedule)
    assert schedule.plot() is not None
    with pytest.raises(InvalidInput, match="accuracy must be full to evaluate"):
        schedule.evaluate([1.0])
    with pytest.raises(InvalidInput, match="accuracy must be full or leading"):
        predict(a, W0, eta=0.01, accuracy="most")


def test_the_leading_law_of_tied_signals_says_that_it_is_rough():
    full, leading = (
        predict([2, 1.9], omega="1e-4", eta=0.01, dynamics="gd", accuracy=accuracy)
        for accuracy in ("full", "leading")
    )
    assert not full.warnings
    assert leading.warnings[0].startswith("rough: ")
    assert leading.half_times.tolist() == leading.closed_form.tolist()
