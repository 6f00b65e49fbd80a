"""Which assumptions hold at given numbers, and by what margin; the same certified, over a box too.

For the editions with existential constants the question is decided by
:mod:`swingby.verify.checking.feasibility`, and the witness is confirmed by plain evaluation of the
statements themselves. At exact numbers every inequality is compared exactly where it is rational
and in balls of rising precision elsewhere; :mod:`swingby.verify.checking.box` decides over a box.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import mpmath
from numpy.typing import ArrayLike

from swingby.errors import MISSING, InvalidInput, named
from swingby.theory import assumptions, balls, numbers
from swingby.theory.balls import precision
from swingby.theory.growth import require_dynamics
from swingby.theory.initial import Initial, Scaled, initial_state
from swingby.theory.task import SIMTask, as_task
from swingby.theory.verdict import Verdict
from swingby.verify.checking.box import enclose, interval
from swingby.verify.checking.evaluation import (
    MARGIN_BITS,
    JudgedAssumption,
    judge_point,
    judge_repaired,
    report_existential,
    report_repaired,
)
from swingby.verify.checking.feasibility import Box, Ends, Interval
from swingby.verify.checking.report import CertifiedAssumption, CertifiedAssumptions, Report

EDITIONS = ("printed", "corrected", "repaired")
_LARGEST_BITS = 10**6


@named
def check(
    task: SIMTask | Sequence[Any],
    omega: Any = None,
    eta: Any = None,
    beta: Any = 1.0,
    edition: str = "printed",
    *,
    W0: ArrayLike | Scaled | Initial | None = None,
    rho: Any = "0.1",
    dynamics: str = "euler",
    U0: ArrayLike | Scaled | None = None,
) -> Report:
    r"""Which assumptions hold at these numbers, and by what margin.

    Parameters
    ----------
    task : SIMTask or sequence of numbers
        The task, or its signal a.
    omega : number or text
        Scale of W(0): :math:`\omega \le |w_{ij}(0)| \le \beta\omega`. Any size (``"1e-400"``).
    eta : number or text
        Step size, in the clock of (D.2).
    beta : number or text
        At least 1. The paper asks for beta > 1; with 1 the limit from above is meant.
    edition : {"printed", "corrected", "repaired"}
    W0 : array of shape (d, d) or Scaled, in place of omega and beta
        ``omega = min |w_ij(0)|`` and ``beta omega = max |w_ij(0)|`` (for the repaired edition
        ``beta omega = max w_ii(0)``, and rho from the pivots).
    rho : number or text
        Repaired edition without W(0): the pivots of W(0) are at least ``rho omega``.
    dynamics : {"euler", "gd", "flow"}
        Used by :attr:`Report.schedule`; the printed assumptions speak of euler (D.2).
    U0 : array of shape (d, m) or Scaled, in place of W0
        Factor of W(0) = U(0) U(0)^T, whose entries and pivots are taken without a rounding.

    Returns
    -------
    Report

    Raises
    ------
    InvalidInput
        If a number is missing, not finite, or out of range.

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
    box, initial = _read_numbers(task, omega, eta, beta, edition, W0, U0, point=True)
    if edition == "repaired":
        return report_repaired(task, box, initial, numbers.positive(rho, "rho"), dynamics)
    return report_existential(task, box.corner(0), initial, edition, dynamics)


@named
def certify_assumptions(
    task: SIMTask | Sequence[Any],
    omega: Any = None,
    eta: Any = None,
    beta: Any = 1,
    *,
    W0: ArrayLike | Scaled | Initial | None = None,
    edition: str = "printed",
    bits: int | None = None,
    signal: Sequence[Any] | None = None,
    rho: Any = "0.1",
) -> CertifiedAssumptions:
    r"""Which assumptions hold, proved, with every margin enclosed.

    What is enclosed is the margin that :func:`check` defines: log10 of the
    larger side over the smaller, at the constants it tries. Over a box the enclosure contains the
    margin at every point, each at the constants tried there. The ends are widened by
    :math:`2^{-49}(1 + |m|)`, so that the float of `check` lies inside as well.

    Parameters
    ----------
    task : SIMTask or sequence of numbers
        The task, or its signal a.
    omega, eta, beta : number, text, pair (lower, upper) or flint.arb
        As in :func:`check`; a pair or a ball is an interval, ends included.
    W0 : array of shape (d, d) or Scaled, in place of omega and beta
    edition : {"printed", "corrected", "repaired"}
    bits : int, optional
        The one working precision to use. By default it rises to 2048 until all is decided.
    signal : sequence of d numbers or intervals, optional
        In place of the task's own signal, where mu and sigma are known to an interval only.
    rho : number or text
        Repaired edition without W(0): the pivots of W(0) are at least ``rho omega``.

    Returns
    -------
    CertifiedAssumptions
        *undecided* only where the enclosure of the margin contains 0.

    Raises
    ------
    InvalidInput
        If a number is missing, not finite, or out of range.

    Notes
    -----
    In the repaired edition omega_0 comes out of a certified search. An interval of omega is
    decided like a point. Over intervals of beta *holds* means that the theorem, certified at the
    largest beta, covers every point, and the upper end of the margin is only
    log10 of 1/(beta omega), where no theorem speaks any more.

    References
    ----------
    Assumptions D.1-D.5.

    Examples
    --------
    >>> task = SIMTask.from_signal([4, 1])
    >>> report = certify_assumptions(task, ("1e-95", "1e-85"), "1/720", (1, 2))
    >>> str(report.verdict), report["D.4"].lower[:5], report["D.4"].upper[:5]
    ('holds', '0.035', '0.571')
    """
    require_edition(edition)
    task = as_task(task)
    if bits is not None:
        bits = numbers.whole(bits, "bits", 2, most=_LARGEST_BITS)
    box, initial = _read_numbers(task, omega, eta, beta, edition, W0, signal=signal)
    if edition == "repaired":
        box, judged, *_ = judge_repaired(box, initial, numbers.positive(rho, "rho"), bits)
        used = bits or MARGIN_BITS
    elif box.is_point:
        _, judged, used = judge_point(edition, box.corner(0), bits)
    else:
        judged, used = _over_a_box(edition, box, bits)
    rows = tuple(
        CertifiedAssumption.of(entry.statement, entry.verdict, entry.margin) for entry in judged
    )
    return CertifiedAssumptions(edition, rows, box, used)


def require_edition(edition: str) -> None:
    """Refuse what is no edition."""
    if edition not in EDITIONS:
        raise InvalidInput("edition", edition, f"must be one of {', '.join(EDITIONS)}")


def _read_numbers(
    task: SIMTask,
    omega: Any,
    eta: Any,
    beta: Any,
    edition: str,
    W0: ArrayLike | Scaled | Initial | None,
    U0: ArrayLike | Scaled | None = None,
    *,
    signal: Sequence[Any] | None = None,
    point: bool = False,
) -> tuple[Box, Initial | None]:
    """The numbers to judge, a box of width 0 at a `point`, and W(0) where it is given."""
    if eta is None:
        raise InvalidInput("eta", MISSING, "must be given", "Assumption D.2")
    step = interval(eta, "eta", "Assumption D.2", 0, strict=True, point=point)
    initial = None
    if W0 is not None or U0 is not None:
        if omega is not None:
            start_name = "W0" if U0 is None else "U0"
            raise InvalidInput("omega", omega, f"must not be given together with {start_name}")
        initial = initial_state(W0, U0, task.dim)
        smallest = (initial.smallest_nonzero,) * 2
        spread = (initial.largest / initial.smallest_nonzero,) * 2
    else:
        if omega is None:
            starts = "W0 or U0" if point else "W0"
            raise InvalidInput("omega", MISSING, f"must be given, or {starts}", "Assumption D.4")
        smallest = interval(omega, "omega", "Assumption D.4", 0, strict=True, point=point)
        spread = interval(beta, "beta", "Assumption D.1", 1, point=point)
    power, has_zero = 2 if edition == "corrected" else 1, initial is not None and not initial.omega
    return Box(_read_signal(task, signal), smallest, step, spread, power, has_zero), initial


def _read_signal(task: SIMTask, signal: Sequence[Any] | None) -> tuple[Interval, ...]:
    if signal is None:
        return tuple((value, value) for value in task.exact_signal)
    if isinstance(signal, str | bytes) or not isinstance(signal, Iterable):
        raise InvalidInput("signal", signal, "must be a sequence of numbers or pairs", "Sec. 4")
    intervals = tuple(
        interval(value, f"signal[{position}]", "Sec. 4", 0)
        for position, value in enumerate(signal, 1)
    )
    if len(intervals) != task.dim:
        raise InvalidInput("signal", f"{len(intervals)} values", f"must have {task.dim} values")
    if not any(high for _, high in intervals):
        raise InvalidInput("signal", "all zeros", "must have a positive entry", "Sec. 4")
    return intervals


def _over_a_box(
    edition: str, box: Box, bits: int | None
) -> tuple[tuple[JudgedAssumption, ...], int]:
    """Rising precision until verdicts are those of the numbers, not of the rounding."""
    working_bits, enclosures = 0, dict[str, tuple[Verdict, Ends]]()
    for working_bits in balls.PRECISIONS if bits is None else (bits,):
        with precision(working_bits):
            previous, enclosures = enclosures, enclose(box)
        decided = all(verdict != Verdict.UNDECIDED for verdict, _ in enclosures.values())
        # A box that contains an edge stays undecided at every precision.
        if working_bits >= MARGIN_BITS and (
            decided or enclosures == previous or working_bits >= 2 * MARGIN_BITS
        ):
            break
    return tuple(
        JudgedAssumption(statement, *enclosures[statement.id])
        for statement in assumptions.statements(edition)
    ), working_bits


#: The signals of the summary: ratio 4 throughout, which every edition can treat.
SIGNALS = ((4, 1), (16, 4, 1), (64, 16, 4, 1))


def editions_lines() -> list[str]:
    """One line per signal of the summary: the largest omega that each edition admits."""
    lines = []
    for signal in SIGNALS:
        limits = {
            name: check(signal, "1e-5000", "1e-9", 2, name, rho="0.1").largest_omega
            for name in EDITIONS
        }
        admitted = ", ".join(f"{name} {_power_text(limit)}" for name, limit in limits.items())
        head = "Largest omega at beta = 2 (repaired: pivots at least 1/10 omega)"
        lines.append(f"{head}, a = ({', '.join(map(str, signal))}): {admitted}.")
    return lines


def _power_text(limit: mpmath.mpf | None) -> str:
    return "none" if limit is None else f"10^{mpmath.nstr(mpmath.log10(limit), 5)}"
