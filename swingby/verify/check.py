"""Which assumptions hold at given numbers, and by what margin.

``check`` reads (task, omega, eta, beta) or (task, W(0), eta) and gives a report with a verdict
and a margin per assumption. For the editions with existential constants the question is decided
by :mod:`swingby.verify.feasibility` and the witness is confirmed by plain evaluation of the
statements themselves.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import flint
import mpmath
import numpy as np

from swingby.errors import InvalidInput
from swingby.theory import assumptions, balls, numbers, repaired
from swingby.theory.initial import Initial, Scaled, initial_matrix
from swingby.theory.statement import Statement
from swingby.theory.task import SIMTask
from swingby.theory.verdict import Verdict, all_hold
from swingby.verify import evaluation, feasibility
from swingby.verify.feasibility import Constants, Problem

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from swingby.verify.predict import Schedule

EDITIONS = ("printed", "corrected", "repaired")


@dataclass(frozen=True)
class Result:
    """One assumption at the given numbers.

    Parameters
    ----------
    id : str
        ``"D.4"``, or ``"D.4'"`` in the repaired edition.
    title : str
    verdict : Verdict
    margin : float
        log10 slack, positive inside; infinite where no number of the user can break or mend it.
    reason : str
        One sentence with both sides evaluated.
    statement : Statement
    """

    id: str
    title: str
    verdict: Verdict
    margin: float
    reason: str
    statement: Statement


class Witness(Mapping[str, mpmath.mpf]):
    """The constants as mpmath numbers, by name: ``constants.P`` or ``constants["P"]``.

    Parameters
    ----------
    values : dict from str to mpmath.mpf
    exact : Constants or None
        The same as exact rationals (P by its decimal logarithm).
    """

    def __init__(self, values: dict[str, mpmath.mpf], exact: Constants | None = None) -> None:
        self._values = values
        self.exact = exact

    def __getitem__(self, name: str) -> mpmath.mpf:
        return self._values[name]

    def __getattr__(self, name: str) -> mpmath.mpf:
        if name.startswith("_"):
            raise AttributeError(name)
        try:
            return self._values[name]
        except KeyError:
            raise AttributeError(f"no constant is called {name}") from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={mpmath.nstr(value, 6)}" for name, value in self.items())
        return f"Witness({shown})"


@dataclass(frozen=True)
class Report:
    """What :func:`check` found.

    Parameters
    ----------
    task : SIMTask
    edition : str
    omega, eta, beta : Fraction
        The numbers judged; omega and beta come from W(0) when one was given.
    dynamics : str
    initial : Initial or None
    results : tuple of Result
        In the order of the paper.
    verdict : Verdict
        On all assumptions together.
    constants : Witness or None
        Values that make every inequality true, confirmed by plain evaluation; None otherwise.
    tried : Witness
        The constants at which margins and reasons were evaluated.
    largest_omega : mpmath.mpf or None
        Supremum of omega for which everything holds at this task, eta and beta.
    largest_eta : mpmath.mpf or None
        Largest eta that the step-size assumption admits; infinite for the flow.
    binding : str
        Id of the assumption that binds: the worst failing one or, inside, the one that a
        growing omega or eta breaks first.
    notes : tuple of str
        What a reader has to know besides, such as the certificate that no omega exists.
    """

    task: SIMTask
    edition: str
    omega: Fraction
    eta: Fraction
    beta: Fraction
    dynamics: str
    initial: Initial | None
    results: tuple[Result, ...]
    verdict: Verdict
    constants: Witness | None
    tried: Witness
    largest_omega: mpmath.mpf | None
    largest_eta: mpmath.mpf | None
    binding: str
    notes: tuple[str, ...] = ()

    @property
    def holds(self) -> bool:
        """True or False; raises :class:`swingby.errors.Undecided` when the verdict is undecided."""
        return self.verdict.decided()

    def __getitem__(self, id: str) -> Result:
        for result in self.results:
            if result.id == id:
                return result
        known = ", ".join(result.id for result in self.results)
        raise KeyError(f"{id!r} is not an assumption of the {self.edition} edition ({known})")

    def __iter__(self) -> Iterator[Result]:
        return iter(self.results)

    @property
    def failing(self) -> tuple[str, ...]:
        """Ids of the assumptions that fail."""
        return tuple(result.id for result in self.results if result.verdict == Verdict.FAILS)

    @property
    def nearest(self) -> tuple[mpmath.mpf, mpmath.mpf] | None:
        """The nearest omega and eta below which all assumptions hold, or None if none exist."""
        problem = Problem(self.task.exact_signal, self.omega, self.eta, self.beta)
        supremum = _largest_omega(problem, self.edition, self.initial, ignore_eta=True)
        if supremum is None or self.largest_eta is None:
            return None
        own_omega, own_eta = (balls.midpoint(balls.ball(x)) for x in (self.omega, self.eta))
        return min(supremum, own_omega), min(self.largest_eta, own_eta)

    @property
    def schedule(self) -> Schedule:
        """The stage timings that these numbers predict; see :func:`swingby.predict`."""
        from swingby.verify.predict import predict

        if self.initial is not None:
            return predict(self.task, self.initial, eta=self.eta, dynamics=self.dynamics)
        return predict(
            self.task, omega=self.omega, beta=self.beta, eta=self.eta, dynamics=self.dynamics
        )

    def __repr__(self) -> str:
        failing = f", failing {', '.join(self.failing)}" if self.failing else ""
        return (
            f"<Report {self.edition}: {self.verdict}{failing}; "
            f"omega={numbers.scientific(self.omega)}, eta={numbers.scientific(self.eta)}>"
        )

    def __str__(self) -> str:
        from swingby.verify.report import report_text

        return report_text(self)

    def _repr_html_(self) -> str:
        from swingby.verify.report import report_html

        return report_html(self)

    def to_frame(self) -> Any:
        """One row per assumption: id, title, verdict, margin, reason.

        Returns
        -------
        pandas.DataFrame
        """
        import pandas

        columns = ("id", "title", "verdict", "margin", "reason")
        rows = [[str(getattr(result, name)) if name == "verdict" else getattr(result, name)
                 for name in columns] for result in self.results]
        return pandas.DataFrame(rows, columns=list(columns))

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and text, ready for JSON.

        Returns
        -------
        dict
            Infinite margins are the text ``"inf"`` or ``"-inf"``, numbers that may lie outside
            the float range are text.
        """

        def shown(value: Any) -> str | None:
            return None if value is None else mpmath.nstr(value, 15)

        return {
            "edition": self.edition,
            "verdict": str(self.verdict),
            "signal": [str(value) for value in self.task.exact_signal],
            "omega": numbers.scientific(self.omega, 15),
            "beta": numbers.scientific(self.beta, 15),
            "eta": numbers.scientific(self.eta, 15),
            "dynamics": self.dynamics,
            "assumptions": [
                {
                    "id": result.id,
                    "title": result.title,
                    "verdict": str(result.verdict),
                    "margin": result.margin if math.isfinite(result.margin) else str(result.margin),
                    "reason": result.reason,
                }
                for result in self.results
            ],
            "constants": None
            if self.constants is None
            else {name: shown(value) for name, value in self.constants.items()},
            "largest_omega": shown(self.largest_omega),
            "largest_eta": shown(self.largest_eta),
            "binding": self.binding,
            "notes": list(self.notes),
        }

    def to_latex(self) -> str:
        """The table of assumptions as LaTeX (booktabs).

        Returns
        -------
        str
        """
        from swingby.verify.report import report_latex

        return report_latex(self)


def check(
    task: SIMTask,
    omega: Any = None,
    eta: Any = None,
    beta: Any = 1.0,
    edition: str = "printed",
    *,
    W0: ArrayLike | Scaled | None = None,
    rho: Any = "0.1",
    dynamics: str = "euler",
) -> Report:
    r"""Which assumptions hold at these numbers, and by what margin.

    Parameters
    ----------
    task : SIMTask
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

    Returns
    -------
    Report

    Raises
    ------
    InvalidInput
        If a number is missing, not finite, or out of range.

    References
    ----------
    Assumptions D.1-D.5; the reduction is proved in :mod:`swingby.verify.feasibility`.

    Examples
    --------
    >>> from swingby.theory.task import SIMTask
    >>> report = check(SIMTask.from_signal([4, 1]), omega="1e-80", eta="1e-4")
    >>> report.holds, report.binding
    (True, 'D.2')
    """
    if edition not in EDITIONS:
        raise InvalidInput("edition", edition, f"must be one of {', '.join(EDITIONS)}")
    if dynamics not in ("euler", "gd", "flow"):
        raise InvalidInput("dynamics", dynamics, "must be one of euler, gd, flow", "(D.2)")
    if eta is None:
        raise InvalidInput("eta", "nothing", "must be given", "Assumption D.2")
    step = numbers.positive(eta, "eta", "Assumption D.2")
    initial = None
    if W0 is not None:
        if omega is not None:
            raise InvalidInput("omega", omega, "must not be given together with W0")
        initial = initial_matrix(W0, task.dim)
        smallest = initial.omega
        spread = initial.largest / smallest if smallest else Fraction(1)
    else:
        if omega is None:
            raise InvalidInput("omega", "nothing", "must be given, or W0", "Assumption D.4")
        smallest = numbers.positive(omega, "omega", "Assumption D.4")
        spread = numbers.positive(beta, "beta", "Assumption D.1")
        if spread < 1:
            raise InvalidInput("beta", beta, "must be at least 1", "Assumption D.1")
    problem = Problem(
        task.exact_signal, smallest, step, spread, power=2 if edition == "corrected" else 1
    )
    if edition == "repaired":
        return _check_repaired(task, problem, initial, numbers.positive(rho, "rho"), dynamics)
    return _check_existential(task, problem, initial, edition, dynamics)


def _check_existential(
    task: SIMTask, problem: Problem, initial: Initial | None, edition: str, dynamics: str
) -> Report:
    texts = assumptions.statements(edition)
    feasible = feasibility.omega_verdict(problem)
    step_fits = problem.eta <= feasibility.largest_eta(problem)
    found = feasible == Verdict.HOLDS
    constants = feasibility.witness(problem) if found else feasibility.nearest_attempt(problem)
    judged = tuple(_judge(text, problem, constants, initial, feasible) for text in texts)
    verdict = all_hold(result.verdict for result in judged)
    confirmed = verdict == Verdict.HOLDS
    if confirmed and not evaluation.confirms(texts, problem, constants, initial):
        raise ArithmeticError("plain evaluation contradicts the witness")  # pragma: no cover
    notes = []
    if edition == "corrected" and problem.d > 1:
        notes.append(feasibility.INFEASIBILITY_CERTIFICATE)
    if not problem.separated:
        notes.append("Some a_i <= 3 a_j: no omega and no eta satisfies Assumption D.5.")
    if min(problem.signal) == 0:
        notes.append("A free direction has a_k = 0, which Assumption D.1 excludes (it asks d = s).")
    tried = _as_witness(constants)
    return Report(
        task=task,
        edition=edition,
        omega=problem.omega,
        eta=problem.eta,
        beta=problem.beta,
        dynamics=dynamics,
        initial=initial,
        results=judged,
        verdict=verdict,
        constants=tried if confirmed else None,
        tried=tried,
        largest_omega=_largest_omega(problem, edition, initial, ignore_eta=step_fits),
        largest_eta=balls.midpoint(balls.ball(feasibility.largest_eta(problem))),
        binding=_binding(judged, problem),
        notes=tuple(notes),
    )


def _judge(
    statement: Statement,
    problem: Problem,
    constants: Constants,
    initial: Initial | None,
    feasible: Verdict,
) -> Result:
    """One assumption at the chosen constants."""
    if statement.id == "D.1":
        verdict, margin, reason = _judge_D1(problem, constants)
    else:
        numeric = [
            instance
            for instance in evaluation.instances([statement], problem, constants, initial)
            if instance.condition.about == "numbers"
        ]
        slacks = [(_slack(instance, problem), instance) for instance in numeric]
        margin, worst = min(slacks, key=lambda pair: pair[0], default=(math.inf, None))
        signs = [_verdict_of(instance, problem) for _, instance in slacks]
        verdict = all_hold(signs)
        if statement.id == "D.4" and feasible == Verdict.UNDECIDED and verdict != Verdict.HOLDS:
            verdict = Verdict.UNDECIDED
        reason = "there is no pair of concepts to compare" if worst is None else _explain(
            worst, constants, problem
        )
    return Result(statement.id, statement.title, verdict, margin, reason, statement)


def _judge_D1(problem: Problem, constants: Constants) -> tuple[Verdict, float, str]:
    for k, value in enumerate(problem.signal, 1):
        if value == 0:
            reason = f"a_{k} = 0, and no alpha > 0 satisfies alpha <= a_{k}"
            return Verdict.FAILS, -math.inf, reason
    if problem.omega == 0:
        reason = "W(0) has a zero entry, and no omega > 0 satisfies omega <= |w_ij(0)| there"
        return Verdict.FAILS, -math.inf, reason
    low, high = min(problem.signal), max(problem.signal)
    reason = (
        f"alpha = {numbers.scientific(constants.alpha)} <= a_k in "
        f"[{numbers.scientific(low)}, {numbers.scientific(high)}] <= gamma alpha = "
        f"{numbers.scientific(constants.gamma * constants.alpha)}, beta = "
        f"{numbers.scientific(constants.beta)}: any positive signal has such constants"
    )
    return Verdict.HOLDS, math.inf, reason


def _is_gap(instance: evaluation.Instance) -> bool:
    """Whether this is D.5's a_i - 3 a_j >= alpha/C, whose C > 1 is free."""
    return assumptions.C in instance.condition.relation.free_symbols


def _slack(instance: evaluation.Instance, problem: Problem) -> float:
    if _is_gap(instance):
        # Some C > 1 fits exactly when a_i > 3 a_j; the constant chosen says nothing.
        small = 3 * instance.values[assumptions.a_j]
        return math.inf if not small else _log10(instance.values[assumptions.a_i] / small)
    return instance.log10_slack()


def _verdict_of(instance: evaluation.Instance, problem: Problem) -> Verdict:
    if _is_gap(instance):
        separated = instance.values[assumptions.a_i] > 3 * instance.values[assumptions.a_j]
        return Verdict.HOLDS if separated else Verdict.FAILS
    sign = instance.sign()
    return Verdict.UNDECIDED if sign is None else Verdict.HOLDS if sign >= 0 else Verdict.FAILS


def _explain(worst: evaluation.Instance, constants: Constants, problem: Problem) -> str:
    """Both sides of the tightest inequality, in words."""
    relation = worst.condition.relation
    where = f" at {worst.place}" if worst.place else ""
    if _is_gap(worst):
        large, small = worst.values[assumptions.a_i], worst.values[assumptions.a_j]
        word = ">" if large > 3 * small else "is not above"
        return (
            f"a_i = {numbers.scientific(large)} {word} 3 a_j = "
            f"{numbers.scientific(3 * small)}{where}"
        )
    with flint.ctx.workprec(128):
        left, right = worst.sides()
    holds = _verdict_of(worst, problem)
    sign = {Verdict.HOLDS: "<=", Verdict.FAILS: ">", Verdict.UNDECIDED: "?"}[holds]
    name = {"D.2": "eta", "D.3": "P omega beta", "D.4": "omega", "D.5": "(a_i + a_j)/(2 a_i)"}
    target = {
        "D.2": "1/(9 K gamma alpha)",
        "D.3": "0.4",
        "D.4": "the right side of (D.9)",
        "D.5": "the right side of (D.10)",
    }
    id = worst.statement.id
    tail = "" if id == "D.3" else f" = {_short(right)}"
    with_P = f" with P = {numbers.scientific_log10(float(constants.log10_P))}" if id != "D.2" else ""
    return (
        f"{name[id]} = {_short(left)} {sign} {target[id]}{tail}{where}{with_P}"
        + (f", K = {constants.K}" if "K" in map(str, relation.free_symbols) else "")
    )


def _short(number: flint.arb) -> str:
    """A ball's midpoint to five digits, at any size."""
    return mpmath.nstr(balls.midpoint(number), 5, min_fixed=-4, max_fixed=6)


def _log10(number: Fraction) -> float:
    return numbers.log_of(number) / math.log(10)


def _as_witness(constants: Constants) -> Witness:
    with flint.ctx.workprec(256):
        found = {name: balls.midpoint(ball) for name, ball in constants.as_balls().items()}
    order = ("alpha", "gamma", "beta", "P", "K", "kappa", "C")
    return Witness({name: found[name] for name in order}, constants)


def _largest_omega(
    problem: Problem, edition: str, initial: Initial | None, *, ignore_eta: bool
) -> mpmath.mpf | None:
    """The supremum as an mpmath number; with `ignore_eta` off, no omega exists (D.2 fails)."""
    if not ignore_eta:
        return None
    with flint.ctx.workprec(256):
        if edition == "repaired":
            return repaired.largest_omega(problem.signal, problem.beta, Fraction(1, 10))
        found = feasibility.largest_omega(problem)
        return None if found is None else balls.midpoint(found)


def _binding(judged: tuple[Result, ...], problem: Problem) -> str:
    failing = [result for result in judged if result.verdict == Verdict.FAILS]
    if failing:
        # What no omega or eta can mend comes first.
        for id in ("D.1", "D.5"):
            if any(result.id == id for result in failing):
                return id
        return min(failing, key=lambda result: result.margin).id
    with flint.ctx.workprec(256):
        supremum = feasibility.largest_omega(problem)
        if supremum is None:
            return "D.4"
        omega_room = float((supremum / balls.ball(problem.omega)).log() / flint.arb(10).log())
    eta_room = _log10(feasibility.largest_eta(problem) / problem.eta)
    return "D.4" if omega_room <= eta_room else "D.2"
