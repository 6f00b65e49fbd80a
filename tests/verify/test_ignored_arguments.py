"""Arguments that would be ignored, and starts that no dynamics of U has, are refused by name."""

import numpy as np
import pytest

import swingby
from swingby.errors import InvalidInput

W0 = [[2e-3, 1e-3], [1e-3, 2e-3]]
INDEFINITE = [[0.001, 0.002], [0.002, 0.001]]
REPAIRED = {"edition": "repaired"}


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: swingby.check([4, 1], W0=W0, eta=1e-4, rho=0.3, **REPAIRED), "rho must not .* W0"),
        (lambda: swingby.check([4, 1], U0=W0, eta=1e-4, beta=9), "beta must not be .* with U0"),
        (lambda: swingby.check([4, 1], omega=1e-9, eta=1e-4, rho=0.2), "rho must be given with ed"),
        (lambda: swingby.certify_assumptions([4, 1], W0=W0, eta=1e-4, beta=9), "beta must not"),
        (lambda: swingby.certify_assumptions([4, 1], 1e-9, 1e-4, rho=0.2), "rho must be given"),
        (lambda: swingby.predict([4, 1], W0, 0.01, width=7), "width must not be .* W0, got 7"),
        (lambda: swingby.predict([4, 1], U0=W0, eta=0.01, beta=9), "beta must not be .* U0, got 9"),
        (lambda: swingby.simulate([4, 1], W0, 0.01, 10, record=[20]), "record must be at most 10"),
        (lambda: swingby.simulate([4, 1], W0, 0.01, 10, record=0), "record must be None"),
    ],
)
def test_what_would_be_ignored_is_refused(call, message):
    with pytest.raises(InvalidInput, match=message):
        call()


@pytest.mark.parametrize("start", [{"W0": W0}, {"omega": "1e-3"}])
def test_the_repaired_edition_has_no_theorem_about_euler(start):
    with pytest.raises(InvalidInput, match="must be gd or flow in the repaired edition"):
        swingby.check([4, 1], **start, eta=1e-4, dynamics="euler", **REPAIRED)


@pytest.mark.parametrize("dynamics", ["gd", "flow"])
@pytest.mark.parametrize("function", [swingby.predict_batch, swingby.predict_swing_batch])
def test_many_instances_are_checked_as_each_alone(function, dynamics):
    starts = np.array([W0, INDEFINITE])
    with pytest.raises(InvalidInput, match=r"W0\[1\] must be positive semidefinite"):
        function([4, 1], starts, 0.01, dynamics)
    assert len(function([4, 1], starts, 0.01, "euler")) == 2
