"""Assumptions certified: verdicts and margins proved at exact numbers or over a whole box.

At exact numbers every inequality is compared exactly where it is rational and in balls of rising
precision elsewhere; :mod:`swingby.verify.checking.enclosure` decides over a box.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numpy.typing import ArrayLike

from swingby.errors import named
from swingby.theory import assumptions, balls, numbers
from swingby.theory.balls import precision
from swingby.theory.initial import Initial, Scaled
from swingby.theory.task import SIMTask, as_task
from swingby.theory.verdict import Verdict
from swingby.verify.check import require_edition
from swingby.verify.checking.box import Box, read_box, read_rho
from swingby.verify.checking.certified import CertifiedAssumption, CertifiedAssumptions
from swingby.verify.checking.enclosure import enclose
from swingby.verify.checking.evaluation import MARGIN_BITS, JudgedAssumption, judge_point
from swingby.verify.checking.intervals import Ends
from swingby.verify.checking.repaired_edition import judge_repaired

_LARGEST_BITS = 10**6


@named
def certify_assumptions(
    task: SIMTask | Sequence[Any],
    omega: Any = None,
    eta: Any = None,
    beta: Any = None,
    *,
    W0: ArrayLike | Scaled | Initial | None = None,
    edition: str = "printed",
    bits: int | None = None,
    signal: Sequence[Any] | None = None,
    rho: Any = None,
) -> CertifiedAssumptions:
    r"""Prove which assumptions hold, and enclose every margin.

    The margin is that of :func:`check`: log10 of the side that must be larger over the other, at
    the constants that it tries. Over a box, the enclosure contains the margin at every point, each
    at the constants tried there. The ends are widened by :math:`2^{-49}(1 + |m|)`, so that the
    float of `check` also lies inside.

    Parameters
    ----------
    task : SIMTask or sequence of numbers
        The task, or its signal a.
    omega, eta, beta : number, text, pair (lower, upper) or flint.arb
        As in :func:`check`; a pair or a ball is an interval, ends included.
    W0 : array of shape (d, d) or Scaled, in place of omega and beta
    edition : {"printed", "corrected", "repaired"}
    bits : int, optional
        Working precision. By default it rises until everything is decided, up to 2048.
    signal : sequence of d numbers or intervals, optional
        In place of the task's own signal, if mu and sigma are known only to an interval.
    rho : number or text
        Repaired edition without W(0): the pivots of W(0) are at least ``rho omega``; default 0.1.

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
    The repaired edition is that of the flow, as in `check` with ``dynamics="flow"``: omega_0 comes
    from a certified search. An interval of omega is decided like a point. Over an interval of beta,
    *holds* means that the theorem, certified at the largest beta, covers every point; the upper end
    of the margin is then only log10 of 1/(beta omega), beyond which no theorem applies.

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
    box, initial = read_box(task, omega, eta, beta, edition, W0, signal=signal)
    share = read_rho(rho, edition, W0, initial)
    if edition == "repaired":
        box, judged, *_ = judge_repaired(box, initial, share, bits)
        used = bits or MARGIN_BITS
    elif box.is_point:
        _, judged, used = judge_point(edition, box.corner(0), bits)
    else:
        judged, used = _over_a_box(edition, box, bits)
    rows = tuple(
        CertifiedAssumption.of(entry.statement, entry.verdict, entry.margin) for entry in judged
    )
    return CertifiedAssumptions(edition, rows, box, used)


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
