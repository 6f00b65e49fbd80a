"""What outcomes, theorems and limits say agrees with the numbers beside them."""

import warnings
from fractions import Fraction

import numpy as np
import pytest

import swingby
from swingby.errors import SwingbyWarning
from swingby.simulate.batch import simulate_batch
from swingby.theory.repaired import edition as flow_edition
from swingby.theory.repaired import edition_gd

W0 = [[0.002, 0.001], [0.001, 0.002]]


def test_a_displaced_concept_at_rest_is_trapped():
    U0 = [[0.0451], [0.0602]]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SwingbyWarning)
        run = swingby.simulate([1.044, 1.012], U0=U0, eta=0.03, steps=40_000)
        early = swingby.simulate([1.044, 1.012], U0=U0, eta=0.03, steps=300)
    assert str(run.outcome) == "trapped"
    assert "concept 2 stays below 1/2 for ever" in run.reason
    assert str(early.outcome) == "stopped_early"
    W = np.array(U0) @ np.array(U0).T
    assert simulate_batch([1.044, 1.012], W, 0.03, 40_000).outcome == "trapped"


def test_steps_that_repel_the_limit_are_named():
    run = swingby.simulate([4, 1], U0=[[0.05, 0.01], [0.03, 0.02]], eta=0.3)
    assert str(run.outcome) == "stopped_early"
    assert "eta a_1 = 1.2 is not below 1, so w = 1 repels: use an eta below 0.25" in run.reason
    assert "more steps" not in run.reason


def test_a_coarse_run_under_the_flow_only_needs_steps():
    run = swingby.simulate([4, 1], W0, eta=0.3, steps=4, dynamics="flow")
    assert "more steps are needed" in run.reason


def test_many_steps_are_no_small_pivot():
    with warnings.catch_warnings():
        warnings.simplefilter("error", SwingbyWarning)
        swingby.simulate([4, 1], W0, eta=1e-9, steps=10**7)


def test_what_does_not_apply_promises_nothing():
    report = swingby.check([4, 1], W0=np.array(W0) * 100, eta=0.01, edition="repaired")
    silent = [row for row in report.theorems if row.verdict == "fails"]
    assert silent
    for row in silent:
        assert "entries stay small" not in str(row)
        assert "it asks for omega <=" in str(row) or row.theorem == "S-gd"


def test_what_binds_is_what_a_larger_eta_breaks():
    W = [[2e-7, 1e-7, 3e-8], [1e-7, 2e-7, -4e-8], [3e-8, -4e-8, 1.5e-7]]

    def at(eta):
        return swingby.check([5, 2, 1], W0=W, eta=eta, edition="repaired")

    report, edge = at(0.02), at(Fraction("0.0497"))
    assert report.binding == "D.4'"
    assert edge.holds
    assert edge.largest_eta >= 0.0497
    beyond = at(Fraction(float(edge.largest_eta) * 1.002))
    assert beyond.failing == ("D.4'",)


def test_an_exponent_out_of_range_is_named_as_such():
    with pytest.raises(swingby.InvalidInput, match="must have an exponent of at most"):
        swingby.check([4, 1], omega="1e-1000000000", eta=1e-4)


@pytest.mark.parametrize(("edition", "eta"), [(flow_edition, ()), (edition_gd, ("0.005",))])
def test_largest_omega_takes_numbers_of_any_kind(edition, eta):
    exact = edition.largest_omega((4, 1), *map(Fraction, eta), Fraction(2), Fraction(1, 10))
    assert edition.largest_omega([4, 1], *eta, 2, "0.1") == exact
    with pytest.raises(swingby.InvalidInput, match="peak must be positive"):
        edition.largest_omega((4, 1), *eta, 2, "0.1", peak=-1.0)


def test_what_is_undecided_is_not_called_trapped():
    schedule = swingby.predict([1.044, 1.012], U0=[[0.0451], [0.0602]], eta=0.03)
    assert schedule.undecided.tolist() == [False, True]
    assert schedule.trapped.tolist() == [False, False]
