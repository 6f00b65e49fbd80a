r"""Assumptions certified: verdicts and margins as proved intervals, also over a box of numbers.

At exact numbers every inequality is compared as :func:`swingby.verify.check.check` does it, exactly
where it is rational and in balls of rising precision elsewhere. Over a box
:mod:`swingby.verify.checking.box` decides by the reduction of
:mod:`swingby.verify.checking.feasibility`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from swingby.errors import MISSING, InvalidInput
from swingby.theory import assumptions, balls, numbers
from swingby.theory.balls import precision
from swingby.theory.claims.verdict import Verdict
from swingby.theory.initial import Initial, Scaled, initial_matrix
from swingby.theory.task import SIMTask, as_task
from swingby.verify.check import EDITIONS
from swingby.verify.checking.box import enclose, interval
from swingby.verify.checking.evaluation import MARGIN_BITS, judge_point, judge_repaired
from swingby.verify.checking.feasibility import Box, Ends, Interval
from swingby.verify.checking.report import CertifiedAssumption, CertifiedAssumptions

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

_LARGEST_BITS = 10**6


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

    What is enclosed is the margin that :func:`swingby.verify.check.check` defines: log10 of the
    larger side over the smaller, at the constants it tries. Over a box the enclosure contains the
    margin at every point, each at the constants tried there. The ends are widened by
    :math:`2^{-49}(1 + |m|)`, so that the float of `check` lies inside as well.

    Parameters
    ----------
    task : SIMTask or sequence of numbers
        The task, or its signal a.
    omega, eta, beta : number, text, pair (lower, upper) or flint.arb
        As in :func:`swingby.verify.check.check`; a pair or a ball is an interval, ends included.
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
    >>> found = certify_assumptions(task, ("1e-95", "1e-85"), "1/720", (1, 2))
    >>> str(found.verdict), found["D.4"].lower[:5], found["D.4"].upper[:5]
    ('holds', '0.035', '0.571')
    """
    if edition not in EDITIONS:
        raise InvalidInput("edition", edition, f"must be one of {', '.join(EDITIONS)}")
    task = as_task(task)
    if bits is not None:
        bits = numbers.whole(bits, "bits", 2, most=_LARGEST_BITS)
    if eta is None:
        raise InvalidInput("eta", MISSING, "must be given", "Assumption D.2")
    step = interval(eta, "eta", "Assumption D.2", 0, strict=True)
    initial = None
    if W0 is not None:
        if omega is not None:
            raise InvalidInput("omega", omega, "must not be given together with W0")
        initial = initial_matrix(W0, task.dim)
        smallest = (initial.smallest_nonzero,) * 2
        spread = (initial.largest / initial.smallest_nonzero,) * 2
    else:
        if omega is None:
            raise InvalidInput("omega", MISSING, "must be given, or W0", "Assumption D.4")
        smallest = interval(omega, "omega", "Assumption D.4", 0, strict=True)
        spread = interval(beta, "beta", "Assumption D.1", 1)
    power = 2 if edition == "corrected" else 1
    has_zero = initial is not None and initial.omega == 0
    box = Box(_signal(task, signal), smallest, step, spread, power, has_zero)
    if edition == "repaired":
        box, judged, *_ = judge_repaired(box, initial, numbers.positive(rho, "rho"), bits)
        used = bits or MARGIN_BITS
    elif box.is_point:
        _, judged, used = judge_point(edition, box.corner(0), bits)
    else:
        texts = assumptions.statements(edition)
        found, used = _over_a_box(box, bits)
        rows = tuple(CertifiedAssumption.of(text, *found[text.id]) for text in texts)
        return CertifiedAssumptions(edition, rows, box, used)
    rows = tuple(CertifiedAssumption.of(one.statement, one.verdict, one.margin) for one in judged)
    return CertifiedAssumptions(edition, rows, box, used)


def _signal(task: SIMTask, signal: Sequence[Any] | None) -> tuple[Interval, ...]:
    if signal is None:
        return tuple((value, value) for value in task.exact_signal)
    if isinstance(signal, str | bytes) or not isinstance(signal, Iterable):
        raise InvalidInput("signal", signal, "must be a sequence of numbers or pairs", "Sec. 4")
    found = tuple(
        interval(value, f"signal[{place}]", "Sec. 4", 0) for place, value in enumerate(signal, 1)
    )
    if len(found) != task.dim:
        raise InvalidInput("signal", f"{len(found)} values", f"must have {task.dim} values")
    if not any(high for _, high in found):
        raise InvalidInput("signal", "all zeros", "must have a positive entry", "Sec. 4")
    return found


def _over_a_box(box: Box, bits: int | None) -> tuple[dict[str, tuple[Verdict, Ends]], int]:
    """Rising precision until verdicts are those of the numbers, not of the rounding."""
    used, found = 0, dict[str, tuple[Verdict, Ends]]()
    for used in balls.PRECISIONS if bits is None else (bits,):
        with precision(used):
            last, found = found, enclose(box)
        decided = all(verdict != Verdict.UNDECIDED for verdict, _ in found.values())
        # A box that contains an edge stays undecided at every precision.
        if used >= MARGIN_BITS and (decided or found == last or used >= 2 * MARGIN_BITS):
            break
    return found, used
