"""U U^T and one layer as torch trains them, against the law, closed forms and the simulator.

Forecasts from the first stage, against the run itself and closed forms.
"""

from dataclasses import replace

import numpy as np
import pytest

from swingby.errors import InvalidInput
from swingby.theory.task import SIMTask

pytest.importorskip("torch")

from studies.law_errors import draw_starts, law_errors, output_errors, own_moment
from studies.survival import FIG8, standard_cells
from swingby.lab.networks import Data, Network, Optimizer, Setting, train
from swingby.lab.networks.forecast import forecast
from swingby.lab.networks.weights import initial_weights
from tests.forked import FULL

pytestmark = pytest.mark.torch


def symmetric(task, width, steps=3000, lr=0.01):
    network = Network(2, width, bias=False, symmetric=True)
    optimizer = Optimizer("gd", lr=lr, loss="paper")
    return Setting(task, Data(None), network, optimizer, steps=steps, precision="float64")


def one_layer(task, data, lr, steps, **named):
    optimizer = Optimizer("gd", lr=lr, loss="paper")
    network = Network(bias=False)
    return Setting(task, data, network, optimizer, steps=steps, precision="float64", **named)


def test_half_times_and_curves_are_those_of_the_law():
    count = 6 if FULL else 3
    found = law_errors(draw_starts(count, 3, 5, omega=(1e-7, 1e-5)), gradient="written")
    assert len(found.half_times) == 3 * count
    assert found.half_times.max() <= 0.005
    assert np.median(found.half_times) == 0
    assert (found.traps[:, 1:] == 0).all()
    times, heights = found.peaks.T
    assert np.quantile(heights, 0.9) < 0.01
    assert np.quantile(times, 0.9) < 0.03
    assert np.median(times) < 0.003
    assert (found.descents[:, 1] == 0).all()
    # Width 1: the second pivot is zero, so nothing is left for the second concept.
    found = law_errors(draw_starts(2, 2, 1, width=1), gradient="written")
    assert found.traps.tolist() == [[1, 0, 0]] * 2
    assert len(found.half_times) == 2


def test_a_minor_entry_peaks_where_the_closed_form_says():
    # w_kk = 2 (a_k + a_j)/(3 a_k + a_j) at the peak of w_kj, for small W(0) and eta.
    U = 1e-4 * np.array([[1.0, 0.2], [0.5, 0.8]])
    W = train(symmetric(SIMTask.from_signal([3, 1]), 2, 4000, 0.001), start=[U]).jacobian[0]
    place = int(np.abs(W[:, 0, 1]).argmax())
    assert 0 < place < len(W) - 1
    assert W[place, 0, 0] == pytest.approx(2 * 4 / 10, abs=0.005)


def test_one_layer_is_theorem_41_up_to_its_own_step():
    # Gradient descent has (1 - lr a)^t where the theorem has exp(-lr a t): both are closed forms.
    task, rate, steps = SIMTask([1, 2]), 0.05, 300
    setting = one_layer(task, Data(None), rate, steps, seed=3)
    found = output_errors([setting])
    rest = (initial_weights(setting)[0] - np.eye(2)) * task.test_point
    t = np.arange(steps + 1)[:, None]
    gap = ((1 - rate * task.signal) ** t - np.exp(-rate * task.signal * t)) @ rest.T
    assert found.population[0] == pytest.approx(np.abs(gap / task.test_point).max(), rel=1e-9)
    assert found.own[0] == found.population[0]


def test_a_small_sample_follows_its_own_moment():
    task = SIMTask([1, 2], [0.3, 0.3])
    setting = one_layer(task, Data(20), 0.002, 4000)
    found = output_errors([replace(setting, seed=k) for k in range(20)])
    assert np.median(found.own) < 0.002
    assert np.median(found.population) > 10 * np.median(found.own)
    assert np.nanmax(np.abs(found.own_half_times)) <= 2
    assert own_moment(setting) == pytest.approx(np.diag(task.signal), abs=0.4)


def test_draws_are_what_they_promise():
    starts = draw_starts(40, 4, 0, omega=(1e-3, 1e-3), width=50)
    share = starts.eta * starts.signal.max(axis=1)
    assert 0.002 <= share.min() <= share.max() <= 0.05
    assert starts.signal.max() <= 8 * (1 + 1e-12)
    assert np.diagonal(starts.W0, axis1=1, axis2=2).mean() == pytest.approx(1e-3, rel=0.05)
    assert (starts.W0.swapaxes(1, 2) == starts.W0).all()


def test_the_law_goes_on_from_the_cut_and_beats_what_is_simpler():
    run = train(standard_cells(runs=40)[0].settings, record=2)
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
    run = train(standard_cells(runs=6)[1].settings, record=2)
    found = forecast(run)
    blind = run.jacobian.copy()
    for place, cut in enumerate(found.cut):
        blind[place, run.steps > cut] = np.nan
    again = forecast(replace(run, jacobian=blind))
    for name in ("law", "alone", "ratio", "cut", "eta"):
        assert getattr(again, name) == pytest.approx(getattr(found, name), nan_ok=True, abs=0)


def test_without_minor_entries_law_and_logistic_agree():
    # Diagonal W(0): every concept is a logistic of its own, at the growth of eta = 2 lr.
    run = train(symmetric(FIG8, 3), start=[np.diag([0.02, 0.003, 0.01])])
    found = forecast(run)
    assert found.eta[0] == pytest.approx(0.02, rel=1e-4)
    assert found.first[0] == 2
    closed = -np.log([0.02**2, 0.003**2]) / (2 * np.log1p(0.02 * FIG8.signal[:2]))
    assert found.law[0, :2] == pytest.approx(closed, rel=0.005)
    assert found.alone[0, :2] == pytest.approx(closed, rel=0.01)
    ratio = FIG8.signal[2] / FIG8.signal[0]
    assert found.ratio[0, 0] == pytest.approx(run.jacobian_half_times[0, 2] * ratio)


@pytest.mark.parametrize(
    ("signal", "U", "steps", "record", "word"),
    [
        ([2.0, 1.99], np.diag([0.01, 0.01]), 1500, 1, "overlap"),
        ([2.0, 1.0], np.diag([0.01, 0.01]), 20, 1, "no concept"),
        ([2.0, 1.0], np.diag([0.9, 0.01]), 20, 1, "before the first"),
        ([2.0, 1.0], np.diag([0.01, 0.01]), 1500, 150, "too few"),
        ([2.0, 1.0], 1e-3 * np.array([[1.0], [0.7]]), 1500, 1, "pivot"),
    ],
)
def test_no_forecast_where_there_is_nothing_to_go_on(signal, U, steps, record, word):
    setting = symmetric(SIMTask.from_signal(signal), U.shape[1], steps)
    found = forecast(train(setting, start=[U], record=record))
    assert word in found.reason[0]
    assert np.isnan(found.law).all()
    assert not found.judged[0]
    assert not found.best[0]
    # Without a second pivot the logistic alone believes in the concept.
    assert np.isfinite(found.alone[0, 1]) == (word == "pivot")
    assert np.isnan(found.observed).all() or word == "pivot"


def test_arguments_are_checked():
    run = train(symmetric(FIG8, 3, steps=5), start=[np.eye(3) * 0.01])
    calls = [lambda: forecast(run).errors("luck"), lambda: forecast("run")]
    calls += [lambda: output_errors([Setting(FIG8, network=Network(2, bias=False))])]
    for call in (*calls, lambda: output_errors([Setting(FIG8)])):
        with pytest.raises(InvalidInput):
            call()


@pytest.mark.parametrize(
    ("rule", "word"),
    [
        (Optimizer("adam", 0.01), "adam divides each entry by its own size"),
        (Optimizer("adamw", 0.01), "adamw divides each entry"),
        (Optimizer("gd", 0.01, loss="paper", weight_decay=0.01), "predict_network"),
    ],
)
def test_no_law_under_adam_and_decay(rule, word):
    base = symmetric(FIG8, 3, steps=400)
    found = forecast(train(replace(base, optimizer=rule), start=[np.eye(3) * 0.1]))
    assert word in found.reason[0]
    assert np.isnan(found.law).all()
