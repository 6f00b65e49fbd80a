"""The threshold study of ReLU networks: extremal vectors, ends of training, alignment, half-times.

The work is a list of cells, each a pure function of its names and the seed. What is done lies in
a JSON file that is replaced as a whole, so a study goes on where it was stopped.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

import swingby
from studies.cell_runs import Tell, measure_cells
from studies.plan import RECORDS
from studies.relu_cells import BINS, CLOSE, SIGMA, ThresholdCell, cells, close, measure
from studies.relu_inputs import FAMILIES
from studies.study import MOST
from swingby.errors import InvalidInput
from swingby.lab.figures.evidence import Kind
from swingby.lab.relu.geometry import Floats
from swingby.report import Drawn, Grid
from swingby.report.seals import sealed, unsealed
from swingby.theory import numbers
from swingby.theory.input_files import json_of
from swingby.theory.share import Share, judged, share_of, two_sided
from swingby.theory.verdict import counted, inside

FORMAT = "swingby relu 3"
#: Mean |cosine| of neurons with least squares, weighted by |a_j w_j|, that counts as one line.
_STRAIGHT = 0.95
#: Asked of the rectified law where alignment is complete.
_NEAR = 0.003


@dataclass(frozen=True)
class ThresholdStudy(Drawn):
    """The runs of every cell. Made by :func:`study`."""

    seed: int
    quick: bool
    results: dict[str, list[dict[str, Any]]]

    def of(self, kind: str) -> Iterator[tuple[ThresholdCell, list[dict[str, Any]]]]:
        """The cells of a kind with their runs."""
        for cell in cells(self.quick):
            if cell.kind == kind:
                yield cell, self.results[cell.name]

    def to_dict(self) -> dict[str, Any]:
        """The verdicts, the threshold and all runs, as JSON can hold them."""
        fitted = threshold(self)
        return {
            "seed": self.seed,
            "quick": self.quick,
            "rows": rows(self),
            "threshold": None if fitted is None else asdict(fitted),
            "results": self.results,
        }

    def to_grids(self) -> list[Grid]:
        """The verdicts, P(two), where training ends, and the largest counterexamples."""
        return tables(self)


#: The public name.
Study = ThresholdStudy


def study(
    *,
    quick: bool = False,
    seed: int = 7,
    store: str | Path | None = None,
    workers: int = 1,
    tell: Tell | None = None,
) -> ThresholdStudy:
    r"""Measure threshold, link and alignment over many data sets.

    Parameters
    ----------
    quick : bool
        Fewer cells and runs: under five minutes on two cores, where the full study takes under an
        hour.
    seed : int
        Of all data and all networks.
    store : path, optional
        A JSON file to go on with; it is made if it does not exist. InvalidInput if it is of
        another study, or cannot be read or written.
    workers : int
        Processes.
    tell : callable, optional
        Gets a share from 0 to 1 and a few words.

    Returns
    -------
    ThresholdStudy
        Its text are the tables; :func:`rows` yields the verdicts.
    """
    numbers.whole(seed, "seed")
    numbers.whole(workers, "workers", 1)
    if not isinstance(quick, bool):
        raise InvalidInput("quick", quick, "must be True or False")
    if not (store is None or isinstance(store, (str, Path))):
        raise InvalidInput("store", store, "must be the path of a file")
    every = cells(quick)
    if workers > 1:
        # The geometry first, then the longest cells, so that no process is alone at the end.
        every.sort(key=lambda cell: (cell.kind != "two", -cell.d, -cell.n))
    results = measure_cells(
        {cell.name: (cell, seed) for cell in every},
        runs_of,
        head={"format": FORMAT, "version": swingby.__version__, "seed": seed, "quick": quick},
        made_by="swingby relu --store",
        store=store,
        workers=workers,
        tell=tell,
    )
    return ThresholdStudy(seed, quick, results)


def runs_of(job: tuple[ThresholdCell, int]) -> list[dict[str, Any]]:
    """The runs of a cell with a seed."""
    return measure(*job)


def recorded_study(path: str | Path | None = None) -> ThresholdStudy:
    """The quick study of the documentation.

    `path`: its file, by default the one in the folder ``studies``. InvalidInput where the file is
    no such study.
    """

    def content(plain: Any) -> ThresholdStudy:
        inside = unsealed(plain)
        return ThresholdStudy(inside["seed"], inside["quick"], inside["results"])

    file = RECORDS / "relu_study.json" if path is None else path
    return json_of(file, "path", "file of swingby relu --store", content)


@dataclass(frozen=True)
class Exponent:
    r"""The threshold :math:`n^*(d) = c\, d^p`, where P(two) = 1/2, with intervals of 95 %."""

    p: float
    p_interval: tuple[float, float]
    at: dict[int, float]
    at_interval: dict[int, tuple[float, float]]


def threshold(measured: ThresholdStudy, draws: int = 200) -> Exponent | None:
    r"""Fit logit P(two) = k (log n - log n*(d)), one n* a dimension, then :math:`n^* = c\,d^p`.

    Intervals come from drawing the counts of the cells again. None where the fit has no answer.
    """
    table = [
        (cell.d, cell.n, sum(run["count"] == 2 for run in runs), len(runs))
        for cell, runs in measured.of("two")
        if cell.family == "gap"
    ]
    d, n, hits, total = (np.array(column, float) for column in zip(*table, strict=True))
    dims = np.unique(d)
    rng = np.random.default_rng(measured.seed)
    best = _fit(d, n, hits, total, dims)
    if best is None:
        return None
    again = [
        _fit(d, n, rng.binomial(total.astype(int), hits / total), total, dims) for _ in range(draws)
    ]
    solutions = np.array([fit for fit in again if fit is not None])
    slopes = [_slope(dims, fit) for fit in solutions]
    low, high = np.quantile(solutions, (0.025, 0.975), axis=0)
    return Exponent(
        _slope(dims, best),
        (float(np.quantile(slopes, 0.025)), float(np.quantile(slopes, 0.975))),
        {int(dim): math.exp(value) for dim, value in zip(dims, best, strict=True)},
        {int(dim): (math.exp(a), math.exp(b)) for dim, a, b in zip(dims, low, high, strict=True)},
    )


def _slope(dims: Floats, logs: Floats) -> float:
    return float(np.polyfit(np.log(dims), logs, 1)[0])


def _fit(d: Floats, n: Floats, hits: Any, total: Floats, dims: Floats) -> Floats | None:
    """Log n* of each dimension, with a common steepness."""
    from scipy.optimize import minimize
    from scipy.special import log_expit

    row_dim = np.searchsorted(dims, d)

    def cost(at: Floats) -> float:
        z = math.exp(at[0]) * (np.log(n) - at[1:][row_dim])
        return -float((hits * log_expit(z) + (total - hits) * log_expit(-z)).sum())

    first = np.concatenate([[0.5], np.full(len(dims), math.log(15.0))])
    done = minimize(cost, first, method="L-BFGS-B", bounds=[(-3, 3)] + [(0, 12)] * len(dims))
    logs: Floats = done.x[1:]
    return logs if done.success and (logs < 11.9).all() and (logs > 0.1).all() else None


#: What we forecast, and the check of a search against itself; the rest are sentences of the paper
#: on the threshold, or our reading of them.
_KINDS = {
    "mean loss is (1 - 2d/n) sigma^2 to 2 %": Kind.LAW,
    "99 % of neurons within 1 degree of their path": Kind.LAW,
    "90 % of neurons aligned (5 degrees) when predicted, to 2 points": Kind.LAW,
    "half-times of the rectified law to 0.3%": Kind.LAW,
    "starts say two where all say two": Kind.NUMERICS,
}


def _judged(setting: str, statement: str, outcomes: Sequence[bool | None]) -> dict[str, Any]:
    """A row about a share of runs that has to reach the threshold of nine in ten."""
    decided = [bool(outcome) for outcome in outcomes if outcome is not None]
    row = {"source": "relu", "setting": setting, "edition": "", "statement": statement}
    return row | judged(share_of(decided), MOST) | {"kind": _KINDS.get(statement, Kind.CLAIM)}


def record_content(seed: int, quick: bool, results: Mapping[str, Any]) -> dict[str, Any]:
    """The content of the file that :func:`recorded_study` reads."""
    return sealed({"format": FORMAT, "seed": seed, "quick": quick, "results": results})


def rows(found: ThresholdStudy, confidence: float = 0.95) -> list[dict[str, Any]]:
    """The verdicts, with the fields of a row of the evidence table.

    `confidence`: of the interval of the mean loss; shares have theirs from their counts.
    """
    rows: list[dict[str, Any]] = []
    groups = _groups(found, "two", lambda cell: (FAMILIES.index(cell.family), cell.d))
    for _, group in sorted(groups.items()):
        # The most points of each dimension.
        cell = max((cell for cell, _ in group), key=lambda one: one.n)
        two = [run["count"] == 2 for member, run in group if member == cell]
        setting = f"{cell.family}, d = {cell.d}, n = {cell.n}"
        rows.append(_judged(setting, "two extremal vectors for many points", two))
    same = [run["same"] for _, runs in found.of("complete") for run in runs]
    rows.append(_judged("gaussian, d = 3, 4", "starts say two where all say two", same))
    for (family, d), group in _groups(found, "link", lambda cell: (cell.family, cell.d)).items():
        endings = [(run["count"] == 2, close(run), run["split"]) for _, run in group]
        both = [None if end is None else two == end for two, end, _ in endings]
        split_words = "two extremal vectors, halves that split as they are: their loss"
        for words, outcomes in (
            ("loss of two halves iff two extremal vectors", both),
            ("two extremal vectors: loss of two halves", [end for two, end, _ in endings if two]),
            ("loss of two halves: two extremal vectors", [two for two, end, _ in endings if end]),
            (split_words, [end for two, end, split in endings if two and split]),
        ):
            rows.append(_judged(f"{family}, d = {d}", words, outcomes))
    rows += [_mean_row(found, family, confidence) for family in FAMILIES]
    for family, group in _groups(found, "align", lambda cell: cell.family).items():
        setting = f"{family}, d = {_dims(group)}"
        on_path = [run["near"] >= 0.99 * run["neurons"] for _, run in group]
        aligned = [abs(run["aligned"] / run["neurons"] - 0.9) <= CLOSE for _, run in group]
        rows.append(_judged(setting, "99 % of neurons within 1 degree of their path", on_path))
        words = "90 % of neurons aligned (5 degrees) when predicted, to 2 points"
        rows.append(_judged(setting, words, aligned))
    for variant, group in _groups(found, "end", lambda cell: cell.variant).items():
        setting = f"{variant}, d = {_dims(group)}"
        rows.append(_judged(setting, "loss of two halves", [close(run) for _, run in group]))
        straight = [run["cosine"] >= _STRAIGHT for _, run in group]
        rows.append(_judged(setting, f"neurons along beta (mean cosine {_STRAIGHT})", straight))
    for cell, runs in found.of("concepts"):
        setting = f"{cell.family} start, {cell.d} concepts, {cell.n} neurons"
        in_time = [all(off is not None and abs(off) <= _NEAR for off in run["off"]) for run in runs]
        off, linear = (_sizes([run[name] for run in runs]) for name in ("off", "linear"))
        row = _judged(setting, f"half-times of the rectified law to {_NEAR:.1%}", in_time)
        rows.append(
            row | {"observed": f"{sum(in_time) / len(in_time):.1%}; {off}; linear: {linear}"}
        )
    return rows


_Group = list[tuple[ThresholdCell, dict[str, Any]]]


def _groups(
    measured: ThresholdStudy, kind: str, key: Callable[[ThresholdCell], Any]
) -> dict[Any, _Group]:
    """The runs of a kind with their cells, by a key of the cells: a single cell has too few."""
    groups: dict[Any, _Group] = {}
    for cell, runs in measured.of(kind):
        groups.setdefault(key(cell), []).extend((cell, run) for run in runs)
    return groups


def _dims(group: _Group) -> str:
    return ", ".join(map(str, dict.fromkeys(cell.d for cell, _ in group)))


def _sizes(off: Sequence[Sequence[float | None]]) -> str:
    """Median errors by stage."""
    return " / ".join(f"{value:+.2%}" for value in np.nanmedian(np.array(off, float), axis=0))


def _mean_row(measured: ThresholdStudy, family: str, confidence: float) -> dict[str, Any]:
    """The mean of loss / ((1 - 2d/n) sigma^2) of runs that ended at two halves, against 1."""
    group = _groups(measured, "link", lambda cell: cell.family)[family]
    ended = [(cell.n - 2 * cell.d, cell.n, run["loss"]) for cell, run in group if close(run)]
    row = _judged(family, "mean loss is (1 - 2d/n) sigma^2 to 2 %", [])
    row |= {"predicted": "1", "seeds": len(ended), "needed": None}
    if len(ended) < 2:
        return row
    freedom, n, loss = np.array(ended, float).T
    ratios, w = loss / (freedom / n * SIGMA**2), freedom / freedom.sum()
    mean = float(w @ ratios)
    error = math.sqrt(float(w**2 @ (ratios - mean) ** 2))
    (low, high), single = (
        (mean - two_sided(level) * error, mean + two_sided(level) * error)
        for level in (confidence, 0.95)
    )
    row |= {"observed": f"{mean:.3f}", "interval": f"[{low:.3f}, {high:.3f}]"}
    return row | {"verdict": inside(single, 1 - CLOSE, 1 + CLOSE)}


def tables(measured: ThresholdStudy) -> list[Grid]:
    """The verdicts, P(two), where training ends, and the largest counterexamples."""
    judged = rows(measured)
    columns = ("setting", "statement", "predicted", "observed", "95 %", ">seeds", "verdict")
    fields = ("setting", "statement", "predicted", "observed", "interval", "seeds", "verdict")
    below = [counted(row["verdict"] for row in judged)]
    grids = [
        Grid("ReLU", columns, [[str(row[field]) for field in fields] for row in judged], (), below)
    ]

    def add(
        title: str, columns: str, lines: Iterable[Sequence[Any]], below: Sequence[str] = ()
    ) -> None:
        head = tuple(word.strip() for word in columns.split("|"))
        grids.append(Grid(title, head, [[*map(str, line)] for line in lines], below=below))

    shares = [
        (c.family, c.d, c.n, Share(sum(run["count"] == 2 for run in runs), len(runs)))
        for c, runs in measured.of("two")
    ]
    add("Two extremal vectors", "family | >d | >n | >share", shares, _threshold_text(measured))
    ends = []
    for c, runs in measured.of("link"):
        endings = [(run["count"] == 2, close(run)) for run in runs]
        counts = [endings.count((two, end)) for two in (True, False) for end in (True, False)]
        split = [close(run) for run in runs if run["count"] == 2 and run["split"]]
        still = sum(end is None for _, end in endings)
        ends.append((c.family, c.d, c.n, *counts, still, f"{split.count(True)} of {len(split)}"))
    names = "family | >d | >n | >two, halves | >two, not | >more, halves | >more, not"
    add("Where training ends", f"{names} | >not ended | >same split: halves", ends)
    wrong = [
        (*(run[name] for name in ("family", "d", "n", "run", "count")), f"{run['ratio']:.3f}")
        for run in _counterexamples(measured)
    ]
    names = "family | >d | >n | >run | >extremal vectors | >loss / that of halves"
    below = ["A loss below 0.98 of that of the halves ends a run."]
    add("Counterexamples to the link", names, wrong, below)
    turned = []
    for c, runs in measured.of("align"):
        bins = np.sum([run["histogram"] for run in runs], axis=0)
        time = np.median([run["time"] for run in runs])
        portions = [f"{value / bins.sum():.1%}" for value in bins]
        turned.append((c.family, c.d, c.n, f"{time:.1f}", *portions))
    names = " | ".join(["family | >d | >n | >time", *(f">{a} to {b}" for a, b in pairwise(BINS))])
    below = ["Degrees between neurons and their limits, when nine in ten should be within 5."]
    add("Alignment", names, turned, below)
    return grids


def _threshold_text(measured: ThresholdStudy) -> list[str]:
    """The exponent in words."""
    fitted = threshold(measured)
    if fitted is None:
        return ["The threshold could not be fitted."]
    low, high = fitted.p_interval
    at = ", ".join(
        f"{fitted.at[d]:.1f} [{a:.1f}, {b:.1f}] for d = {d}"
        for d, (a, b) in fitted.at_interval.items()
    )
    return [
        f"gap: n* = {at} (share 1/2)",
        f"gap: n* grows as d^p, p = {fitted.p:.2f} [{low:.2f}, {high:.2f}]",
    ]


def _counterexamples(measured: ThresholdStudy, most: int = 12) -> list[dict[str, Any]]:
    """Runs in which the link fails: data are `draw` at the seed, and can be drawn again."""
    kinds: dict[bool, list[dict[str, Any]]] = {True: [], False: []}
    for cell, runs in measured.of("link"):
        for run in runs:
            two = run["count"] == 2
            if close(run) is (not two):
                ratio = run["loss"] / run["halves"]
                size = abs(math.log(max(ratio, 1e-9))) if two else run["count"]
                about = {"family": cell.family, "d": cell.d, "n": cell.n, "ratio": ratio}
                kinds[two].append({**about, "size": size, **run})
    return [
        run
        for failures in kinds.values()
        for run in sorted(failures, key=lambda failure: -failure["size"])[: most // 2]
    ]
