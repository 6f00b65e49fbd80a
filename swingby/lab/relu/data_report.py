r"""Noisy linear data, and the assumptions of the paper tested on a sample.

The statements are those of "Simplicity bias and optimization threshold in two-layer networks"
(Boursier and Flammarion) as its reviews and the authors' replies tell them: x has a symmetric
distribution; :math:`y = \beta \cdot x + \eta` with noise that is independent of x. An equation (8)
that Theorem 2 needs is not quoted there. Which role it may play is our finding: without a **gap**,
a cone about the hyperplane :math:`\beta^\perp` without data, hyperplanes of data cut every
neighbourhood of the extremal directions.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from swingby.errors import InvalidInput, named
from swingby.hints import Hinted
from swingby.lab.relu.alignment import extremal_vectors
from swingby.lab.relu.geometry import Extremal, Floats, data
from swingby.report import Framed, Grid
from swingby.report.files import storable
from swingby.theory.verdict import Verdict, all_hold, from_sign, yes

#: A distribution is refuted at this level; a sample never proves one.
_LEVEL = 0.01
_FLIPS = 400


@dataclass(frozen=True)
class DataStatement(Hinted):
    """One thing that is asked of data; its margin is log10 of (upper side)/(lower side)."""

    id: str
    says: str
    source: str
    observed: str
    margin: float
    verdict: Verdict

    def __str__(self) -> str:
        return f"{self.says} ({self.source}): {self.verdict}, {self.observed}"


@dataclass(frozen=True, eq=False)
class DataReport(Framed):
    """The paper's assumptions judged on data. Made by :func:`check`."""

    statements: tuple[DataStatement, ...]
    #: The extremal vectors of the data.
    points: tuple[Extremal, ...]

    def __getitem__(self, id: str) -> DataStatement:
        for statement in self.statements:
            if statement.id == id:
                return statement
        raise InvalidInput("id", id, f"must be among {', '.join(s.id for s in self.statements)}")

    @property
    def verdict(self) -> Verdict:
        """Of all statements together."""
        return all_hold(statement.verdict for statement in self.statements)

    def to_grid(self) -> Grid:
        """A line a statement."""
        rows = []
        for statement in self.statements:
            margin = "any" if statement.margin == math.inf else f"{statement.margin:.2f}"
            margin = "-" if math.isnan(statement.margin) else margin
            rows.append(
                [
                    statement.id,
                    statement.says,
                    statement.source,
                    statement.observed,
                    margin,
                    str(statement.verdict),
                ]
            )
        columns = ("", "says", "source", "observed", ">margin", "verdict")
        below = ["A sample can refute a distribution, at level 1 %; it cannot prove one."]
        return Grid("What is asked of the data", columns, rows, below=below)

    def records(self) -> list[dict[str, Any]]:
        """One row per statement."""
        return [vars(statement) for statement in self.statements]

    def to_dict(self) -> dict[str, Any]:
        """The statements as JSON can hold them."""
        rows = list(map(storable, self.records()))
        return {"verdict": str(self.verdict), "statements": rows}


@named
def check(X: object, y: object, *, seed: int = 0) -> DataReport:
    r"""Judge the assumptions of the optimization threshold on data.

    There are six assumptions: x is symmetric, tested by :math:`E|x + x'| \ge E|x - x'|`, which is
    an equality only for symmetric x; the noise is independent of x, tested by correlations of
    residuals and their squares with functions of x; the second moment is not singular;
    :math:`n > 2d`; the data leave a gap about :math:`\beta^\perp` (ours); and there are exactly two
    extremal vectors. A sample can refute a distribution but not prove it, so the first two
    assumptions fail or are undecided. Their margin is the decimal logarithm of p over 0.01.

    Parameters
    ----------
    X, y : arrays of shape (n, d) and (n,)
        As in :func:`extremal_vectors`.
    seed : int
        Of random signs and permutations.

    Notes
    -----
    Assumption 1 of "Simplicity bias and optimization threshold in two-layer networks", as described
    in its reviews. The reviews do not quote its equation (8), which Theorem 2 needs.

    Examples
    --------
    >>> from swingby.lab.relu import check
    >>> report = check([[3, 1], [-3, 1], [2, -1], [-2, -1], [4, 1]], [3, -3, 2, -2, 4])
    >>> str(report["two"].verdict), report["two"].observed
    ('holds', '2: max, min')
    """
    x, values = data(X, y)
    extremal = extremal_vectors(X, y, seed=seed)
    points = extremal.points
    n, d = x.shape
    rng = np.random.default_rng(seed)
    beta = np.asarray(np.linalg.lstsq(x, values, rcond=None)[0], np.float64)
    symmetric = _of_p(_symmetric(x, rng))
    independent = _of_p(_independent(x, values - x @ beta, rng))

    # A second moment that is not singular, so that least squares is one function.
    eigenvalues = np.linalg.eigvalsh(x.T @ x / n)
    moment = math.log10(max(float(eigenvalues[0] / eigenvalues[-1]), 1e-300) / 1e-12)
    # More points than the two halves have numbers.
    enough = math.log10(n / (2 * d))
    # The angle about beta's hyperplane without data, against that of least squares.
    cosine = np.abs(x @ beta) / np.linalg.norm(x, axis=1) / max(float(np.linalg.norm(beta)), 1e-300)
    smallest, usual = float(cosine.min()), math.sqrt(d / n)
    gap = math.log10(max(smallest, 1e-300) / usual)

    more = "" if extremal.complete else " found; there may be more"
    count = f"{len(points)}{more}: {', '.join(point.kind for point in points)}"
    two = from_sign(-1 if len(points) != 2 else 0 if extremal.complete else None)
    spread = f"eigenvalues {eigenvalues[0]:.3g} to {eigenvalues[-1]:.3g}"
    angles = f"least |cos(x, beta)| {smallest:.3g}, sqrt(d/n) {usual:.3g}"
    clear = "no data within sqrt(d/n) of the hyperplane of beta"
    singular = "E x x^T exists and is not singular"
    size = f"n = {n}, 2 d = {2 * d}"
    rows = (
        DataStatement("symmetric", "x has a symmetric distribution", "Assumption 1", *symmetric),
        DataStatement("noise", "the noise is independent of x", "Assumption 1", *independent),
        DataStatement("moments", singular, "least squares", spread, moment, yes(moment >= 0)),
        DataStatement("n", "n > 2 d", "loss (1 - 2d/n) sigma^2", size, enough, yes(enough > 0)),
        DataStatement("gap", clear, "ours; see docs/relu.md", angles, gap, yes(gap >= 0)),
        DataStatement("two", "exactly two extremal vectors", "G_n", count, math.nan, two),
    )
    return DataReport(rows, points)


def _of_p(p: float) -> tuple[str, float, Verdict]:
    """The verdict of a test with this p value: it may refute, never prove."""
    verdict = Verdict.FAILS if p < _LEVEL else Verdict.UNDECIDED
    return f"p = {p:.3g}", math.log10(p / _LEVEL), verdict


def _symmetric(x: Floats, rng: np.random.Generator) -> float:
    """E|x + x'| >= E|x - x'|, equal only for symmetric x; signs flipped at random are the null."""
    x = x[rng.permutation(len(x))[:400]]
    sums = np.linalg.norm(x[:, None] + x[None], axis=2)
    excess = sums - np.linalg.norm(x[:, None] - x[None], axis=2)
    np.fill_diagonal(excess, 0.0)
    flips = rng.choice((-1.0, 1.0), (_FLIPS, len(x)))
    null = np.einsum("fi,ij,fj->f", flips, excess, flips, optimize=True)
    return float((1 + (null >= excess.sum()).sum()) / (1 + _FLIPS))


def _independent(x: Floats, residual: Floats, rng: np.random.Generator) -> float:
    """Squares and values of residuals against |x|, x and products: the largest correlation."""
    d = x.shape[1]
    upper = np.triu_indices(d)
    features = np.column_stack(
        [np.linalg.norm(x, axis=1), np.maximum(x, 0), x[:, upper[0]] * x[:, upper[1]]]
    )
    features = features - features.mean(axis=0)
    features /= np.maximum(np.linalg.norm(features, axis=0), 1e-300)

    def largest(noise: Floats) -> float:
        best = 0.0
        for values in (noise, noise * noise):
            centred = values - values.mean()
            length = float(np.linalg.norm(centred))
            best = max(best, float(np.abs(centred @ features).max()) / max(length, 1e-300))
        return best

    if np.linalg.norm(residual) <= 1e-12 * max(1.0, float(np.linalg.norm(x))):
        return 1.0
    observed = largest(residual)
    null = [largest(residual[rng.permutation(len(x))]) for _ in range(_FLIPS)]
    return (1 + sum(correlation >= observed for correlation in null)) / (1 + _FLIPS)
