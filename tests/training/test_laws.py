"""U U^T and one layer as torch trains them, against the law, closed forms and the simulator."""

from dataclasses import replace

import numpy as np
import pytest

from swingby.theory.task import SIMTask

pytest.importorskip("torch")

from swingby.training import Data, Network, Optimizer, Setting, train
from swingby.training.laws import draw_starts, law_errors, output_errors, own_moment
from swingby.training.model import initial_weights

pytestmark = pytest.mark.torch


def symmetric(task, U, lr, steps, loss="paper"):
    network = Network(2, U.shape[1], bias=False, symmetric=True)
    optimizer = Optimizer("gd", lr=lr, loss=loss)
    return Setting(task, Data(None), network, optimizer, steps=steps, precision="float64")


def test_half_times_and_curves_are_those_of_the_law():
    starts = draw_starts(6, 3, 5, omega=(1e-7, 1e-5))
    found = law_errors(starts, gradient="written")
    assert len(found.half_times) == 18
    assert found.half_times.max() <= 0.005
    assert np.median(found.half_times) == 0
    assert (found.traps[:, 1:] == 0).all()
    times, heights = found.peaks.T
    assert np.quantile(heights, 0.9) < 0.01
    assert np.quantile(times, 0.9) < 0.03
    assert np.median(times) < 0.003
    assert (found.descents[:, 1] == 0).all()


def test_a_minor_entry_peaks_where_the_closed_form_says():
    # w_kk = 2 (a_k + a_j)/(3 a_k + a_j) at the peak of w_kj, for small W(0) and eta.
    task = SIMTask.from_signal([3, 1])
    U = 1e-4 * np.array([[1.0, 0.2], [0.5, 0.8]])
    run = train(symmetric(task, U, 0.001, 4000), start=[U])
    W = run.jacobian[0]
    place = int(np.abs(W[:, 0, 1]).argmax())
    assert 0 < place < len(W) - 1
    assert W[place, 0, 0] == pytest.approx(2 * 4 / 10, abs=0.005)


def test_a_rank_one_start_is_foreseen_as_a_trap():
    # Width 1: the second pivot is zero, so nothing is left for the second concept.
    starts = draw_starts(5, 2, 1, width=1)
    found = law_errors(starts, gradient="written")
    assert found.traps.tolist() == [[1, 0, 0]] * 5
    assert len(found.half_times) == 5


def test_one_layer_is_theorem_41_up_to_its_own_step():
    # Gradient descent has (1 - lr a)^t where the theorem has exp(-lr a t): both are closed forms.
    task = SIMTask([1, 2])
    rate, steps = 0.05, 300
    setting = Setting(
        task,
        Data(None),
        Network(bias=False),
        Optimizer("gd", lr=rate, loss="paper"),
        steps=steps,
        precision="float64",
        seed=3,
    )
    found = output_errors([setting])
    rest = (initial_weights(setting)[0] - np.eye(2)) * task.test_point
    t = np.arange(steps + 1)[:, None]
    gap = ((1 - rate * task.signal) ** t - np.exp(-rate * task.signal * t)) @ rest.T
    assert found.population[0] == pytest.approx(np.abs(gap / task.test_point).max(), rel=1e-9)
    assert found.own[0] == found.population[0]


def test_a_small_sample_follows_its_own_moment():
    task = SIMTask([1, 2], [0.3, 0.3])
    setting = Setting(
        task,
        Data(20),
        Network(bias=False),
        Optimizer("gd", lr=0.002, loss="paper"),
        steps=4000,
        precision="float64",
    )
    found = output_errors([replace(setting, seed=k) for k in range(20)])
    assert np.median(found.own) < 0.002
    assert np.median(found.population) > 10 * np.median(found.own)
    assert np.nanmax(np.abs(found.own_half_times)) <= 2
    assert own_moment(setting) == pytest.approx(np.diag(task.signal), abs=0.4)


def test_draws_are_what_they_promise():
    starts = draw_starts(40, 4, 0, omega=(1e-3, 1e-3), width=50)
    share = starts.eta * starts.signal.max(axis=1)
    assert share.min() >= 0.002
    assert share.max() <= 0.05
    assert starts.signal.max() <= 8 * (1 + 1e-12)
    assert np.diagonal(starts.W0, axis1=1, axis2=2).mean() == pytest.approx(1e-3, rel=0.05)
    assert (starts.W0.swapaxes(1, 2) == starts.W0).all()
