"""Prediction of every stage of learning, before anything is run.

``predict`` applies the sharp stage-time law of :mod:`swingby.theory.law.stages` to a W(0), or its
distribution over Gaussian initializations to (omega, width), and puts the windows of the
paper's Lemmas D.1 to D.8 beside, where the printed assumptions hold.
"""

from __future__ import annotations

import functools
import math
import warnings
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from swingby.errors import MISSING, InvalidInput, SwingbyWarning, named
from swingby.theory import budget, numbers
from swingby.theory.gaussian import (
    FULL,
    QUANTILES,
    GaussianTimes,
    gaussian_times,
    share_text,
)
from swingby.theory.growth import DYNAMICS, require_accuracy, require_dynamics
from swingby.theory.initial import Initial, Scaled, initial_state
from swingby.theory.task import SIMTask, as_task
from swingby.theory.verdict import Verdict
from swingby.verify.checking.box import FeasibilityProblem, refuse_beside_start
from swingby.verify.checking.feasibility import largest_eta, omega_verdict, witness
from swingby.verify.predicted_events import Windows
from swingby.verify.schedule import Schedule


def lemma_windows(
    task: SIMTask,
    start: Initial | tuple[Fraction, Fraction],
    step: Fraction,
    dynamics: str,
    edition: str,
) -> Windows:
    """Lemma windows for a W(0), or for entries between omega and beta omega."""
    if isinstance(start, Initial):
        omega, beta = start.omega, start.largest / start.omega if start.omega else Fraction(1)
        sizes = np.diag(start.matrix).tolist()
        logs = [math.log(size) + start.log_scale if size > 0 else math.nan for size in sizes]
        starts = tuple((log, log) for log in logs)
    else:
        omega, beta = start
        low = numbers.log_of(omega)
        starts = ((low, low + numbers.log_of(beta)),) * task.dim
    problem = FeasibilityProblem(task.exact_signal, omega, step, beta)
    failing = _failing(problem)
    if failing:
        reason = f"no lemma windows: Assumption {failing}"
        return Windows(None, starts, task.signal, edition, reason)
    constants = witness(problem)
    scale = constants.scale(problem.omega, problem.eta)
    text = f"P = 1e{float(constants.log10_P):.3f}, kappa = {scale.kappa:g}"
    reason = f"lemma windows of the {edition} edition with {text}"
    if dynamics != "euler":
        reason += f"; the lemmas are about (D.2), euler, not about {dynamics}"
    return Windows(scale, starts, task.signal, edition, reason)


def _failing(problem: FeasibilityProblem) -> str:
    """An assumption that fails, with the reason; empty if all hold."""
    if problem.omega == 0:
        return "D.1 fails: W(0) has a zero entry"
    if min(problem.signal) == 0:
        return "D.1 fails: a free direction has a_k = 0"
    if not problem.separated:
        return "D.5 fails: some a_i <= 3 a_j"
    if problem.eta > largest_eta(problem):
        return "D.2 fails: eta is too large"
    return "" if omega_verdict(problem) == Verdict.HOLDS else "D.4 fails: omega is too large"


#: The stage law of d concepts takes about this times d^3.
SECONDS_A_CUBE = 2.3e-5


@named
def predict(
    task: SIMTask | Sequence[Any],
    W0: ArrayLike | Scaled | Initial | None = None,
    eta: Any = None,
    *,
    dynamics: str = "gd",
    omega: Any = None,
    beta: Any = None,
    width: int | None = None,
    edition: str = "printed",
    accuracy: str = "full",
    U0: ArrayLike | Scaled | None = None,
    proved: bool = False,
) -> Schedule:
    r"""Predict when each concept is learned, and the events around it.

    Parameters
    ----------
    task : SIMTask or sequence of numbers
        The task, or its signal a.
    W0 : array of shape (d, d) or Scaled, optional
        Initial matrix. Without it, `U0` or `omega` is required.
    eta : number or text
        Step size in the clock of (D.2).
    dynamics : {"gd", "euler", "flow"}
    omega : number or text, optional
        Without W0: U(0) is Gaussian with `width` columns and :math:`\mathbb E\,w_{ii}(0) = \omega`.
        Half-times are medians of real crossings; a run reaches 1/2 at the next whole step.
        `spread` has their 5 % and 95 % quantiles, and `never` the share of starts that never learn
        a concept; the quantiles count these as inf. Under gd and flow they have a closed form.
        Under euler, and if stages overlap, they come from drawn starts, which are always the same
        (:mod:`swingby.theory.gaussian`); ``schedule.gaussian.basis`` tells.
    beta : number or text
        With omega: :math:`|w_{ij}(0)| \le \beta\omega`, for the lemma windows only; default 1.
    width : int, optional
        With omega: number d' of columns of U(0). Default d.
    edition : {"printed", "corrected"}
        Edition of the lemma windows; see :mod:`swingby.theory.lemmas`.
    accuracy : {"full", "leading"}
        ``"leading"`` is only the closed law :math:`t_k = -\log \pi_k / g_{kk}`, under euler with
        the drift of the pivots: half-times without error bars, and no other events.
    U0 : array of shape (d, m) or Scaled, optional
        Factor of :math:`W(0) = U(0) U(0)^\top`, in place of W0. The pivots come from U(0) by QR.
        The matrix W(0) in floats loses pivots below about 1e-14 of its entries.
    proved : bool
        Also return half-times that are theorems, :attr:`Schedule.proved`: an interval of whole
        steps for each concept, evaluated in ball arithmetic
        (:mod:`swingby.theory.repaired.proved_half_times`). This needs gd, a small W(0) of full
        rank, eta a_1 <= 1/3 and distinct signals. Otherwise the result is ``"not covered"``, and
        :func:`swingby.certify` follows the run itself.

    Returns
    -------
    Schedule

    Raises
    ------
    InvalidInput
        If not exactly one of W0, U0 and omega is given, a number is out of range, or beta or width
        is given beside W0 or U0.

    References
    ----------
    The stage law is ours (:mod:`swingby.theory.law.stages`); windows: Lemmas D.1-D.8.

    Examples
    --------
    >>> task = SIMTask.from_signal([4, 1])
    >>> schedule = predict(task, [[2e-6, 1e-6], [1e-6, 2e-6]], eta=0.01, dynamics="gd")
    >>> schedule.half_times.round(1).tolist()
    [167.0, 674.0]

    Two rows that are nearly parallel: in floats U(0) U(0)^T has no second pivot left.

    >>> U0 = [[1e-3, 0], [1e-3, 1e-11]]
    >>> predict(task, U0=U0, eta=0.01, dynamics="gd").half_times.tolist()
    [176.0, 2545.0]

    A theorem instead of an estimate: the first step with w_kk >= 1/2 lies in these intervals.

    >>> W0 = Scaled([[2, 1], [1, 2]], "1e-300")
    >>> predict(task, W0, eta=0.01, proved=True).proved.tolist()
    [[8797, 8797], [34691, 34691]]

    Steps of W itself take small pivots away.

    >>> predict(task, omega="1e-8", eta=0.01, dynamics="euler").never.round(2).tolist()
    [0.0, 0.28]
    """
    task = as_task(task)
    step = read_step(eta, task, dynamics, edition)
    require_accuracy(accuracy)
    values = {"W0": W0, "U0": U0, "omega": omega}
    present = [name for name, value in values.items() if value is not None]
    if len(present) != 1:
        text = " and ".join(present) or MISSING
        raise InvalidInput("one of W0, U0 and omega", text, "must be given", Initial.FACTORED)
    if omega is None:
        refuse_beside_start(W0, beta=beta, width=width)
        initial = initial_state(W0, U0, task.dim)
        initial.require_psd(dynamics)
        if proved:
            require_provable(dynamics)
        return predict_from(task, initial, step, dynamics, edition, accuracy, proved=proved)
    if proved:
        requirement = "must be given with W0 or U0: the theorems are about one start"
        raise InvalidInput("proved", proved, requirement)
    smallest = numbers.positive(omega, "omega", "Assumption D.4")
    spread = numbers.positive(1 if beta is None else beta, "beta", "Assumption D.1")
    if spread < 1:
        raise InvalidInput("beta", beta, "must be at least 1", "Assumption D.1")
    columns = task.dim if width is None else numbers.whole(width, "width", 1, "Sec. 4.2")
    return _from_scale(task, smallest, spread, columns, step, dynamics, edition, accuracy)


def require_provable(dynamics: str) -> None:
    """Refuse to prove half-times of a dynamics that no theorem speaks of."""
    if dynamics != "gd":
        requirement = "must be gd with proved=True: half-times of others are not theorems"
        raise InvalidInput("dynamics", dynamics, requirement, "Theorem S-gd")


def read_step(eta: object, task: SIMTask, dynamics: str, edition: str = "printed") -> Fraction:
    """The step size, checked along with the names of the dynamics and the edition."""
    require_dynamics(dynamics)
    if edition not in ("printed", "corrected"):
        raise InvalidInput("edition", edition, "must be printed or corrected for the windows")
    return numbers.step_size(eta, task.exact_signal, "Assumption D.2")


@named
def predict_gaussian(
    task: SIMTask | Sequence[Any], scale: Any, width: int, eta: Any, *, dynamics: str = "gd"
) -> GaussianTimes:
    """Distribution of the half-times when U(0) = scale * N(0, 1)^(d x width).

    Parameters
    ----------
    task : SIMTask or sequence of numbers
        The task, or its signal a.
    scale : number or text
        Standard deviation tau of the entries of U(0).
    width : int
        d', at least the number of concepts with a positive signal.
    eta : number or text
        Step size in the clock of (D.2).
    dynamics : {"gd", "euler", "flow"}

    Returns
    -------
    GaussianTimes
        ``mean`` and ``sd`` over the starts that learn the concept, and ``quantile(level)`` over all
        starts, in steps; ``never``, the share of starts that never learn it. Each of shape (d,).
        nan out of range, where ``out_of_range`` says why.

    Raises
    ------
    InvalidInput
        If a number is out of range, or if the width traps a concept.

    Warns
    -----
    SwingbyWarning
        If the law is out of its range.

    References
    ----------
    App. E.2 for the setting; the law is derived in :mod:`swingby.theory.gaussian`.

    Examples
    --------
    >>> times = predict_gaussian(SIMTask([1, 1.5, 2.2]), 1e-3, 5, eta=0.01)
    >>> times.mean.round(0).tolist()
    [1966.0, 850.0, 388.0]
    """
    require_dynamics(dynamics)
    task = as_task(task)
    tau = numbers.positive(scale, "scale", "App. E.2")
    columns = numbers.whole(width, "width", 1, "App. E.2")
    step = numbers.step_size(eta, task.exact_signal, "Assumption D.2")
    times = gaussian_times(task, tau**2, columns, step, dynamics)
    if times.out_of_range:
        warnings.warn(f"out of range: {times.out_of_range}", SwingbyWarning, stacklevel=3)
    return times


def predict_from(
    task: SIMTask,
    initial: Initial,
    step: Fraction,
    dynamics: str,
    edition: str,
    accuracy: str = "full",
    *,
    proved: bool = False,
) -> Schedule:
    """The prediction of :func:`predict`, for a W(0) and numbers that are checked."""
    # SciPy's integrators take longer to load than everything else; refusals do without.
    from swingby.theory.law.stages import leading_law, stage_law

    budget.expect("the prediction", SECONDS_A_CUBE * task.dim**3)
    law = stage_law if accuracy == "full" else leading_law
    stages = law(task, initial, step, dynamics)
    theorem = None
    if proved:
        from swingby.theory.repaired.proved_half_times import proved_half_times

        theorem = proved_half_times(task, initial, step)
    return Schedule(
        task=task,
        eta=step,
        dynamics=dynamics,
        half_times=stages.half_times,
        error=stages.error,
        trapped=stages.trapped & ~stages.undecided,
        warnings=(*task.warnings, *stages.warnings),
        stages=stages,
        gaussian=None,
        spread=np.stack([stages.half_times, stages.half_times]),
        make_windows=functools.partial(lemma_windows, task, initial, step, dynamics, edition),
        accuracy=accuracy,
        theorem=theorem,
    )


def _from_scale(
    task: SIMTask,
    omega: Fraction,
    beta: Fraction,
    width: int,
    step: Fraction,
    dynamics: str,
    edition: str,
    accuracy: str,
) -> Schedule:
    overlap = accuracy == "full"
    times = gaussian_times(task, omega / width, width, step, dynamics, overlap=overlap)
    low, median, high = times.quantile(QUANTILES)
    reasons = list(task.warnings)
    if times.out_of_range:
        reasons.append(f"out of range: {times.out_of_range}")
    elif times.basis != FULL and not times.apart:
        reasons.append(
            "rough: omega is not small, signals are nearly tied or eta is large, and the overlap "
            f"of stages is left out{f' for so many concepts (d = {task.dim})' if overlap else ''}"
        )
    reasons += _never_warnings(times)
    with np.errstate(invalid="ignore"):  # what is never learned has no range: inf - inf
        error = (high - low) / 2
    for i, j in zip(task.order, task.order[1:], strict=False):
        if task.exact_signal[i] == task.exact_signal[j] > 0:
            reasons.append(
                f"concepts {i + 1} and {j + 1} have equal signals: their order is undecided"
            )
    return Schedule(
        task=task,
        eta=step,
        dynamics=dynamics,
        half_times=median,
        error=error,
        trapped=np.zeros(task.dim, dtype=bool),
        warnings=tuple(reasons),
        stages=None,
        gaussian=times,
        spread=np.stack([low, high]),
        make_windows=functools.partial(lemma_windows, task, (omega, beta), step, dynamics, edition),
        accuracy=accuracy,
    )


def _never_warnings(times: GaussianTimes) -> list[str]:
    """Why starts never learn a concept with a positive signal, in the order of learning."""
    if DYNAMICS[times.dynamics].keeps_psd:
        return []
    task, never = times.task, times.never
    return [
        f"{share_text(never[k], times.never_error[k])} of the starts never learn concept {k + 1}: "
        "a step of euler lacks the term eta^2 B W B of gd, which turns small pivots negative, and "
        "these run away; use dynamics='gd' or a smaller eta"
        for k in task.order
        if task.exact_signal[k] > 0 and never[k] > 0
    ]
