"""The linear phase of a certified run of gradient descent, skipped with a proved error."""

import importlib

import flint
import mpmath
import pytest

from swingby import Scaled, certify, predict
from swingby.proofs.certify.exact_inputs import read_inputs
from swingby.proofs.certify.linear_phase import after_linear_phase
from swingby.theory.balls import precision

CERTIFY = importlib.import_module("swingby.proofs.certify.certify")
THREE = [[2, 1, -0.5], [1, 2, 0.25], [-0.5, 0.25, 1]]


def skipped(signal, W0, eta, *, steps=None, dynamics="gd", bits=256):
    with precision(bits):
        return after_linear_phase(read_inputs(signal, W0, eta, dynamics, steps))


@pytest.mark.parametrize(
    ("signal", "W0", "eta"),
    [
        ([4, 1], [[2, 1], [1, 2]], "1/40"),
        ([4, 2, 1], THREE, "1/25"),
        ([2, 2], [[2, 1], [1, 3]], "1/20"),
    ],
)
def test_certificates_are_those_of_every_step(signal, W0, eta, monkeypatch):
    W0 = Scaled(W0, "1e-120")
    assert skipped(signal, W0, eta).step > 256
    quick = certify(signal, W0, eta)
    monkeypatch.setattr(CERTIFY, "after_linear_phase", lambda inputs: None)
    assert quick.to_dict() == certify(signal, W0, eta).to_dict()


@pytest.mark.parametrize("bits", [256, 512])
def test_the_balls_contain_the_run(bits):
    """Against the plain map at many digits, and no wider than a quarter of the bits allows."""
    start = Scaled(THREE, "1e-150")
    state = skipped([4, 2, 1], start, "1/25", bits=bits)
    with mpmath.workdps(400):
        W = mpmath.matrix(THREE) * mpmath.mpf("1e-150")
        A = mpmath.diag([mpmath.mpf(a) / 25 for a in (4, 2, 1)])
        for _ in range(state.step):
            M = mpmath.eye(3) + A - (A * W + W * A) / 2
            W = M * W * M
        for i in range(3):
            for j in range(3):
                with precision(1400):
                    true = flint.arb(mpmath.nstr(W[i, j], 380))
                assert state.W[i][j].overlaps(true)
                assert state.W[i][j].rel_accuracy_bits() > bits * 3 // 4 - 16


@pytest.mark.parametrize(
    ("W0", "more"),
    [
        (Scaled([[2, 1], [1, 2]], "1e-120"), {"dynamics": "euler"}),
        (Scaled([[2, 1], [1, 2]], "1e-120"), {"steps": 20}),
        (Scaled([[1, 1], [1, 1]], "1e-120"), {}),  # a pivot of 0
        (Scaled([[2, 1], [1, 2]], "1e-6"), {}),
    ],
)
def test_elsewhere_every_step_is_taken(W0, more):
    assert skipped([4, 1], W0, "1/40", **more) is None


def test_entries_that_are_filled_in_are_not_skipped():
    """w_13(0) = 0 is filled by products, and its peak may lie anywhere."""
    W0 = Scaled([[2, 1, 0], [1, 2, 1], [0, 1, 2]], "1e-120")
    assert skipped([4, 2, 1], W0, "1/40") is None


def test_a_certificate_reaches_what_a_million_steps_do_not():
    """Two signals that are nearly equal: one long linear phase, and then a few thousand steps."""
    W0 = Scaled([[2, 1], [1, 2]], "1e-3000")
    half_times = certify([4, "3.999"], W0, "1/800").half_times
    assert min(half_times) > 600_000
    proved = predict([4, 1], W0, eta="1/800", proved=True).proved
    assert half_times[0] == pytest.approx(proved[0, 0], abs=60)
