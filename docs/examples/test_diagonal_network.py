"""Saxe, McClelland and Ganguli (arXiv 1312.6120): modes of a deep linear network, under test.

A mode of strength s grows as u' = 2 s u - 2 u^2 and is half learned at log(s/u_0 - 1)/(2 s).
"""

import numpy as np
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

import swingby
from swingby.proofs.language.claim import Claim, Given
from swingby.testing import assert_claim, assert_stages, tasks

s, u, E, x = sympy.symbols("s u_0 E x", positive=True)  # E = exp(2 s t), x = s/u_0
mode = s * u * E / (s - u + u * E)
equation = sympy.Eq(sympy.diff(mode, E) * 2 * s * E, 2 * s * mode - 2 * mode**2, evaluate=False)
falls = sympy.Lt(x / (x - 1), sympy.log(x - 1), evaluate=False)  # (log(x - 1)/x)' < 0
INSIDE = (Given(u < s, "u_0 is below s"), Given(E >= 1, "t is at least 0"))
SMALL, ANY = (Given(x >= 5, "u_0 is at most s/5"),), (Given(x > 1, "u_0 is below s"),)


def test_claims():
    assert_claim(Claim("mode", "identity", "the curve solves the equation", equation, INSIDE))
    assert_claim(Claim("order", "corollary", "a stronger mode comes first", falls, SMALL))
    assert_claim(Claim("order, any u_0", "corollary", "the same", falls, ANY), "refuted")


@settings(deadline=None)
@given(tasks(ratio=(1.2, 4)), st.integers(2, 60))
def test_stage_times(task, decades):
    strength, eta = task.signal, 0.05 / task.signal.max()
    start = 10.0**-decades * strength.min()
    W0 = np.diag(start / strength)  # u = s w: the diagonal of (D.2) is the same equation
    run = swingby.simulate(task, W0, eta, dynamics="flow", record="none")
    assert_stages(run, swingby.predict(task, W0, eta=eta, dynamics="flow"), rtol=0)
    times = np.log(strength / start - 1) / (2 * strength * eta)
    assert np.allclose(run.half_times, times, rtol=0, atol=1), "Saxe et al.: half-times"
