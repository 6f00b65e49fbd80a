"""Does the theory of the paper apply to a setting, and what would it take?

Pinned number: the largest omega for a = (4, 1) and beta = 1 is 10^-74.852. It is exp(-F(1.1)) of
the reduction proved in ``swingby.verify.checking.feasibility``. With q = 1/4, gamma = 4 and d = 2
it can be computed by hand: rho = 5/8, Q = 12.1 rho, D = log(160/(1 - 1.1^-1/2)) and
F = D (1 - rho + Q)/(1 - rho).
"""

import math

import mpmath

import swingby

PINNED = -74.852

task = swingby.SIMTask.from_signal([4, 1])

for omega in ("1e-80", "1e-3"):
    for edition in ("printed", "corrected", "repaired"):
        report = swingby.check(task, omega=omega, eta="1e-4", beta=2, edition=edition)
        failing = ", ".join(report.failing) or "nothing"
        print(f"omega = {omega}, {edition}: {report.verdict}; failing: {failing}")

report = swingby.check(task, omega="1e-80", eta="1e-4")
limit = float(mpmath.log10(report.largest_omega))
print(f"largest omega, printed edition, beta = 1: 10^{limit:.3f}")

rho, D = 5 / 8, math.log(160 / (1 - 1.1**-0.5))
by_hand = -D * (1 - rho + 12.1 * rho) / (1 - rho) / math.log(10)
if not abs(limit - PINNED) < 5e-4 > abs(by_hand - PINNED):
    raise SystemExit(f"expected {PINNED}, found {limit} and by hand {by_hand}")
