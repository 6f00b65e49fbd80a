"""Assumptions checked: the verdict and the margin of each at exact numbers, or at a given W(0).

For the editions with existential constants the question is decided by
:mod:`swingby.verify.checking.feasibility`, and the witness is confirmed by plain evaluation of the
statements themselves. Every inequality is compared exactly where it is rational and in balls of
rising precision elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import mpmath
from numpy.typing import ArrayLike

from swingby.errors import InvalidInput, named
from swingby.theory.growth import require_dynamics
from swingby.theory.initial import Initial, Scaled
from swingby.theory.task import SIMTask, as_task
from swingby.verbs import answered
from swingby.verify.checking.box import read_box, read_rho
from swingby.verify.checking.evaluation import report_existential
from swingby.verify.checking.repaired_descent import report_descent
from swingby.verify.checking.repaired_edition import report_repaired
from swingby.verify.checking.report import Report

EDITIONS = ("printed", "corrected", "repaired")


@answered
@named
def check(
    task: SIMTask | Sequence[Any],
    omega: Any = None,
    eta: Any = None,
    beta: Any = None,
    edition: str = "printed",
    *,
    W0: ArrayLike | Scaled | Initial | None = None,
    rho: Any = None,
    dynamics: str = "gd",
    U0: ArrayLike | Scaled | None = None,
) -> Report:
    r"""Check which assumptions hold, and by what margin.

    Parameters
    ----------
    task : SIMTask or sequence of numbers
        The task, or its signal a.
    omega : number or text
        Scale of W(0): :math:`\omega \le |w_{ij}(0)| \le \beta\omega`. Any size (``"1e-400"``).
    eta : number or text
        Step size of (D.2).
    beta : number or text
        At least 1, the default. The paper requires beta > 1; 1 stands for the limit from above.
    edition : {"printed", "corrected", "repaired"}
    W0 : array of shape (d, d) or Scaled, in place of omega and beta
        ``omega = min |w_ij(0)|`` and ``beta omega = max |w_ij(0)|`` (for the repaired edition
        ``beta omega = max w_ii(0)``, and rho from the pivots).
    rho : number or text
        Repaired edition without W(0): the pivots of W(0) are at least ``rho omega``; default 0.1.
    dynamics : {"gd", "euler", "flow"}
        Dynamics of :attr:`Report.schedule`; the printed assumptions are about euler (D.2). In the
        repaired edition it selects the theorems. Under gd, two-gd and R-gd decide, and
        ``report.theorems`` says which of G-gd, two-gd, R-gd and S-gd applies; otherwise the
        theorems are those of the flow. About euler there is none, so it is refused there.
    U0 : array of shape (d, m) or Scaled, in place of W0
        Factor of W(0) = U(0) U(0)^T; entries and pivots of W(0) are computed without rounding.

    Returns
    -------
    Report

    Raises
    ------
    InvalidInput
        If a number is missing, not finite, or out of range; if one would be ignored, as beta and
        rho beside W(0), or rho in another edition; for euler in the repaired edition.

    References
    ----------
    Assumptions D.1-D.5; the reduction is proved in :mod:`swingby.verify.checking.feasibility`.

    Examples
    --------
    >>> from swingby.theory.task import SIMTask
    >>> report = check(SIMTask.from_signal([4, 1]), omega="1e-80", eta="1e-4")
    >>> report.holds, report.binding
    (True, 'D.2')
    """
    require_edition(edition)
    require_dynamics(dynamics)
    task = as_task(task)
    box, initial = read_box(task, omega, eta, beta, edition, W0, U0, point=True)
    share = read_rho(rho, edition, W0, initial)
    if edition == "repaired":
        if dynamics == "euler":
            requirement = "must be gd or flow in the repaired edition: nothing is proved for euler"
            raise InvalidInput("dynamics", dynamics, requirement, "D.3'")
        if dynamics == "gd":
            return report_descent(task, box, initial, share)
        return report_repaired(task, box, initial, share, dynamics)
    return report_existential(task, box.corner(0), initial, edition, dynamics)


def require_edition(edition: str) -> None:
    """Refuse a word that names no edition."""
    if edition not in EDITIONS:
        raise InvalidInput("edition", edition, f"must be one of {', '.join(EDITIONS)}")


#: The signals of the summary: ratio 4 throughout, which every edition can treat.
SIGNALS = ((4, 1), (16, 4, 1), (64, 16, 4, 1))


def editions_lines() -> list[str]:
    """The largest omega that each edition admits, in a line for each signal of the summary."""
    lines = []
    for signal in SIGNALS:
        limits = {
            name: check(signal, "1e-5000", "1e-9", 2, name).largest_omega for name in EDITIONS
        }
        admitted = ", ".join(f"{name} {_power_text(limit)}" for name, limit in limits.items())
        head = "Largest omega at beta = 2 (repaired: pivots at least 1/10 omega)"
        lines.append(f"{head}, a = ({', '.join(map(str, signal))}): {admitted}.")
    return lines


def _power_text(limit: mpmath.mpf | None) -> str:
    return "none" if limit is None else f"10^{mpmath.nstr(mpmath.log10(limit), 5)}"
