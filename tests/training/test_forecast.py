"""Forecasts from the first stage, against the run itself and closed forms."""

from dataclasses import replace

import numpy as np
import pytest

from swingby.errors import InvalidInput
from swingby.theory.task import SIMTask

pytest.importorskip("torch")

from swingby.training import Data, Network, Optimizer, Setting, train
from swingby.training.laws import forecast, output_errors
from swingby.training.survival import FIG8, standard_cells

pytestmark = pytest.mark.torch


def symmetric(task, width, steps=3000, lr=0.01):
    network = Network(2, width, bias=False, symmetric=True)
    optimizer = Optimizer("gd", lr=lr, loss="paper")
    return Setting(task, Data(None), network, optimizer, steps=steps, precision="float64")


def test_the_law_goes_on_from_the_cut_and_beats_what_is_simpler():
    cell = standard_cells(runs=40)[0]
    run = train(cell.settings, record=2)
    found = forecast(run)
    assert set(found.reason) == {""}
    assert found.within.all()
    assert (found.first == 2).all()
    assert np.isnan(found.law[:, 2]).all()
    assert (found.cut < run.jacobian_half_times[:, 1]).all()
    assert np.nanmax(found.errors("law")) < 0.05
    assert np.nanmedian(found.errors("law")) < np.nanmedian(found.errors("alone")) / 4
    assert np.nanmedian(found.errors("alone")) < np.nanmedian(found.errors("ratio"))
    assert found.best.mean() > 0.95


def test_nothing_after_the_cut_is_looked_at():
    cell = standard_cells(runs=6)[1]
    run = train(cell.settings, record=2)
    found = forecast(run)
    blind = run.jacobian.copy()
    for place, cut in enumerate(found.cut):
        blind[place, run.steps > cut] = np.nan
    again = forecast(replace(run, jacobian=blind))
    for name in ("law", "alone", "ratio", "cut", "eta"):
        assert getattr(again, name) == pytest.approx(getattr(found, name), nan_ok=True, abs=0)


def test_without_minor_entries_law_and_logistic_agree():
    # Diagonal W(0): every concept is a logistic of its own, at the growth of eta = 2 lr.
    U = np.diag([0.02, 0.003, 0.01])
    run = train(symmetric(FIG8, 3), start=[U])
    found = forecast(run)
    assert found.eta[0] == pytest.approx(0.02, rel=1e-4)
    assert found.first[0] == 2
    signal = FIG8.signal[:2]
    closed = -np.log([0.02**2, 0.003**2]) / (2 * np.log1p(0.02 * signal))
    assert found.law[0, :2] == pytest.approx(closed, rel=0.005)
    assert found.alone[0, :2] == pytest.approx(closed, rel=0.01)
    assert found.ratio[0, 0] == pytest.approx(
        run.jacobian_half_times[0, 2] * FIG8.signal[2] / FIG8.signal[0]
    )


def test_a_rank_one_start_gets_no_forecast():
    U = 1e-3 * np.array([[1.0], [0.7]])
    run = train(symmetric(SIMTask.from_signal([2, 1]), 1, steps=1500), start=[U])
    found = forecast(run)
    assert "pivot" in found.reason[0]
    assert np.isnan(found.law).all()
    assert not found.judged[0]
    assert not found.best[0]
    # The logistic alone believes in it.
    assert np.isfinite(found.alone[0, 1])


@pytest.mark.parametrize(
    ("signal", "U", "steps", "record", "word"),
    [
        ([2.0, 1.99], np.diag([0.01, 0.01]), 1500, 1, "overlap"),
        ([2.0, 1.0], np.diag([0.01, 0.01]), 20, 1, "no concept"),
        ([2.0, 1.0], np.diag([0.9, 0.01]), 20, 1, "before the first"),
        ([2.0, 1.0], np.diag([0.01, 0.01]), 1500, 150, "too few"),
    ],
)
def test_no_forecast_where_there_is_nothing_to_go_on(signal, U, steps, record, word):
    task = SIMTask.from_signal(signal)
    run = train(symmetric(task, 2, steps=steps), start=[U], record=record)
    found = forecast(run)
    assert word in found.reason[0]
    assert np.isnan(found.law).all()
    assert np.isnan(found.observed).all()


def test_arguments_are_checked():
    run = train(symmetric(FIG8, 3, steps=5), start=[np.eye(3) * 0.01])
    for cut in (0.4, 0.95, "high", float("nan")):
        with pytest.raises(InvalidInput):
            forecast(run, cut=cut)
    for call in (
        lambda: forecast(run).errors("luck"),
        lambda: forecast("run"),
        lambda: output_errors([Setting(FIG8, network=Network(2, bias=False))]),
        lambda: output_errors([Setting(FIG8)]),
    ):
        with pytest.raises(InvalidInput):
            call()
