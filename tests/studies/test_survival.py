"""What the theory expects of other networks, and how it is judged."""

from dataclasses import replace

import numpy as np
import pytest

from swingby.errors import InvalidInput
from swingby.theory.share import Share, agrees, reaches
from swingby.theory.task import SIMTask

pytest.importorskip("torch")

from studies.network_tables import transient_by_dimension
from studies.survival import (
    FIG8,
    expect,
    growing_mode,
    judge,
    make_cell,
    standard_cells,
    survival,
    tail,
)
from swingby.lab.networks import Data, Network, Optimizer, Setting, train
from swingby.lab.networks.weights import gram, initial_weights
from swingby.verify.predict_batch import predict_batch
from tests.forked import FULL

pytestmark = pytest.mark.torch


def layers(task, steps, lr, width=3):
    network = Network(2, width, bias=False, initialization="gaussian", scale=1e-4)
    optimizer = Optimizer("gd", lr=lr, loss="paper")
    return Setting(task, Data(None), network, optimizer, steps=steps, precision="float64")


def test_wilson_and_newcombe_are_those_of_the_literature():
    # Wilson for 81 of 263: 0.2553 to 0.3662 (Newcombe 1998, Stat. Med. 17, 857, Table I).
    assert Share(81, 263).interval == pytest.approx((0.2553, 0.3662), abs=5e-5)
    assert Share(0, 20).interval == pytest.approx((0.0, 0.1611), abs=5e-5)
    for threshold, word in ((0.2552, "holds"), (0.2554, "undecided"), (0.3663, "fails")):
        assert reaches(Share(81, 263), threshold) == word
    # 56 of 70 less 48 of 80: 0.0524 to 0.3339 (Newcombe 1998, Stat. Med. 17, 873, Table II).
    limits = {0.0523: "fails", 0.0525: "undecided", 0.3338: "undecided", 0.3340: "holds"}
    for tolerance, word in limits.items():
        assert agrees(Share(56, 70), Share(48, 80), tolerance) == word


def test_two_layers_run_on_the_law_of_their_growing_mode():
    # W1^T and W2 differ a lot at the start; only their mean matters for the half-times.
    settings = [replace(layers(FIG8, 2500, 0.03), seed=k) for k in range(12)]
    run = train(settings, record=5)
    first, second = initial_weights(settings[0])
    assert np.abs(first.T - second).max() > np.abs(first.T + second).max() / 4
    said = np.ceil(expect(settings).half_times)
    assert np.abs(said - run.jacobian_half_times).max() <= 1
    W0 = np.stack([gram(initial_weights(one)[1]) for one in settings])
    wrong = predict_batch(FIG8.signal, W0, 0.03, "gd").half_times
    assert np.nanmedian(np.abs(wrong - run.jacobian_half_times)) > 5


def test_the_transient_of_two_layers_splits_as_derived():
    # Eigenvalues of the linearized pair, against training; U U^T would decay at 1.5.
    task, lr = SIMTask.from_signal([4, 1]), 0.005
    U = 1e-6 * np.array([[1.0, 0.3, 0.2], [0.6, 0.9, -0.4]])
    run = train(layers(task, 1700, lr), start=[U.T, U])
    J = run.jacobian[0]
    begin = int(run.jacobian_half_times[0, 0]) + 600
    rate, ratio = tail(4.0, 1.0)
    # One step of gradient descent takes log(1 - lr rate).
    seen = np.log(J[begin + 300, 0, 1] / J[begin, 0, 1]) / 300
    assert seen == pytest.approx(np.log1p(-lr * rate), rel=1e-3)
    assert J[begin + 300, 1, 0] / J[begin + 300, 0, 1] == pytest.approx(ratio, rel=1e-3)


def test_a_tail_is_an_eigenvector():
    for strong, weak in ((4.0, 1.0), (1.1, 1.0), (100.0, 0.5)):
        rate, ratio = tail(strong, weak)
        matrix = np.array([[-strong, weak], [weak, -weak]])
        assert matrix @ [ratio, 1] == pytest.approx([-rate * ratio, -rate], rel=1e-9)
        assert rate == pytest.approx(-np.linalg.eigvalsh(matrix)[-1], rel=1e-9)


def test_relu_takes_the_entries_that_can_grow():
    plain = layers(FIG8, 10, 0.01, width=40)
    setting = replace(plain, network=replace(plain.network, activation="relu"), data=Data(5))
    first, second = initial_weights(setting)
    V, U = first.T, (first.T + second) / 2
    expected = np.zeros((3, 3))
    for i, j, n in np.ndindex(3, 3, 40):
        if min(U[i, n], U[j, n], V[i, n], V[j, n]) > 0:
            expected[i, j] += U[i, n] * U[j, n]
    np.testing.assert_allclose(growing_mode(setting), expected, rtol=1e-12, atol=1e-30)
    network = Network(2, 32, "relu", bias=False, initialization="gaussian", scale=0.01)
    found = survival([make_cell("", network, steps=600, lr=0.05, n_per_class=10, runs=40)])
    assert found["", "times"].share.value > 0.8
    assert found["", "order"].verdict == "holds"
    assert found["", "times"].note.startswith("scale 1.0")


def test_everything_survives_at_home_and_not_in_two_layers():
    found = survival(standard_cells(runs=60)[:2])
    home = [one for one in found.outcomes if one.cell == "U U^T, small"]
    # Nearly all have as many descents: another run's number is as good.
    words = {one.prediction: str(one.verdict) for one in home}
    assert words.pop("descents") == "nothing at stake"
    assert set(words.values()) == {"holds"}
    assert len(words) == 5
    # Its clock is that of the theory: the factor that is fitted is 1 to a percent.
    assert found["U U^T, small", "times"].note.startswith("scale 1.00")
    # The larger entry of a pair exceeds that of U U^T: tail() says why.
    assert found["W2 W1, small", "size"].verdict == "fails"
    assert found["W2 W1, small", "times"].verdict == "holds"
    assert len(found.to_frame()) == len(found.outcomes) == 12
    assert found.to_dict()["outcomes"][0]["count"] == 60
    assert found.to_markdown().count("\n| ") >= 11
    with pytest.raises(InvalidInput):
        found["U U^T, small", "colour"]


def test_wrong_predictions_are_told_from_right_ones():
    cell = standard_cells(runs=40)[0]
    expected = expect(cell.settings)
    wrong = replace(
        expected,
        order=expected.order[:, ::-1],
        descents=expected.descents + 1,
        transient=expected.transient * 1.2,
        half_times=np.roll(expected.half_times, 1, axis=0),
        starts=expected.starts[1:] + expected.starts[:1],
    )
    outcomes = judge("", wrong, train(cell.settings, record=10))
    failed = {one.prediction for one in outcomes if one.verdict == "fails"}
    assert failed >= {"order", "descents", "size", "times", "loss"}


def test_depth_three_is_asked_for_what_is_typical():
    cell = next(one for one in standard_cells(runs=10) if one.name == "depth 3, small")
    expected = expect(cell.settings)
    assert expected.typical
    assert len(expected.descents) == 200
    assert (expected.order == [2, 1, 0]).all()
    assert (expected.half_times == expected.half_times[0]).all()


def test_what_the_theory_says_nothing_of_is_refused():
    for call in (
        lambda: expect([Setting(FIG8, network=Network(1))]),
        lambda: tail(1.0, 2.0),
        lambda: survival(["W2 W1"]),
    ):
        with pytest.raises(InvalidInput):
            call()


def test_dimension_acts_through_the_width():
    # d = 6 at d' = 3 is as d = 2 at d' = 3; a width of 24 is not.
    runs, shapes = 100 if FULL else 40, [(2, 3), (6, 3), (2, 24)]
    found = transient_by_dimension(shapes, runs=runs, theory_runs=10 * runs, seed=4)
    for one in found:
        assert one.trained.low <= one.theory_most.value
        assert one.theory.value <= one.trained.high
        assert one.sizes[1] == pytest.approx(one.theory_sizes[1], rel=0.3)
    assert found[2].sizes[1] < 0.6 * found[0].sizes[1]
