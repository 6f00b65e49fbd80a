"""App. E.2 as a claim: the mean of W(0) for a Gaussian U(0), (E.1)."""

from __future__ import annotations

import sympy

from swingby.theory.claim import Claim, MeanIdentity
from swingby.theory.derivations.matrices import d_prime, delta, i, j, k, mean, tau, u

E1 = Claim(
    id="E.1",
    kind="identity",
    about="mean of an entry of W = U U^T for U with independent entries N(0, tau^2)",
    conclusion=MeanIdentity(
        mean(sympy.Sum(u[i, k] * u[j, k], (k, 1, d_prime))), delta(i, j) * d_prime * tau**2
    ),
    reference="App. E.2, (E.1)",
    reading="The rows of U are independent of each other. The text above the display prints"
    " <u - i, u_j> for <u_i, u_j>.",
)

CLAIMS: tuple[Claim, ...] = (E1,)
