"""The study: the threshold as geometry, the link to training, alignment, and what else holds.

The work is a list of cells, each a pure function of its names and the seed. What is done lies in
a JSON file that is replaced as a whole, so a study goes on where it was stopped.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import closing
from dataclasses import asdict, dataclass
from importlib import resources
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from swingby.errors import InvalidInput
from swingby.lab.relu.data_report import FAMILIES
from swingby.lab.relu.geometry import Floats
from swingby.lab.relu.runs import BINS, CLOSE, MOST, SIGMA, Cell, cells, close, measure
from swingby.report import Drawn, Grid
from swingby.report.files import write_json
from swingby.report.seals import unsealed
from swingby.theory import numbers
from swingby.theory.input_files import json_of
from swingby.theory.share import Share, judged, share_of
from swingby.theory.verdict import counted, inside

Tell = Callable[[float, str], None]
FORMAT = "swingby relu 2"
#: The study in the package: with the command, the version and the code that made it.
RECORDED_FILE = "relu_study.json"
#: Mean |cosine| of neurons with least squares, weighted by |a_j w_j|, that counts as one line.
STRAIGHT = 0.95
#: Asked of the rectified law where alignment is complete.
NEAR = 0.003


@dataclass(frozen=True)
class Study(Drawn):
    """What was found. Made by :func:`study`."""

    seed: int
    quick: bool
    results: dict[str, list[dict[str, Any]]]

    def of(self, kind: str) -> Iterator[tuple[Cell, list[dict[str, Any]]]]:
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


def study(
    *,
    quick: bool = False,
    seed: int = 7,
    store: str | Path | None = None,
    workers: int = 1,
    tell: Tell | None = None,
) -> Study:
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
    Study
        Its text are the tables; :func:`rows` yields the verdicts.
    """
    numbers.whole(seed, "seed")
    numbers.whole(workers, "workers", 1)
    if not isinstance(quick, bool):
        raise InvalidInput("quick", quick, "must be True or False")
    if not (store is None or isinstance(store, (str, Path))):
        raise InvalidInput("store", store, "must be the path of a file")
    path = None if store is None else Path(store)
    head = {"format": FORMAT, "seed": seed, "quick": quick, "code": _code()}
    results = _read(path, head) if path is not None and path.exists() else {}
    if path is not None:  # found out now if it cannot be written, not after the first cell
        write_json(path, head | {"results": results}, "store")
    every = cells(quick)
    waiting = [cell for cell in every if cell.name not in results]
    if tell is not None:
        tell(len(results) / len(every), "start")
    with closing(_measured(waiting, seed, workers)) as measured:
        for cell, found in measured:
            results[cell.name] = found
            if path is not None:
                write_json(path, head | {"results": results}, "store")
            if tell is not None:
                tell(len(results) / len(every), cell.name)
    return Study(seed, quick, results)


def recorded_study() -> Study:
    """The quick study in the package, every cell of it measured in one run."""
    source = resources.files("swingby") / "data" / RECORDED_FILE
    plain = unsealed(json.loads(source.read_text(encoding="utf-8")))
    return Study(plain["seed"], plain["quick"], plain["results"])


def _measured(
    waiting: Sequence[Cell], seed: int, workers: int
) -> Generator[tuple[Cell, list[dict[str, Any]]]]:
    """Cells with their runs, as they are done."""
    if workers == 1:
        yield from ((cell, measure(cell, seed)) for cell in waiting)
        return
    import multiprocessing

    # The geometry first, then the longest cells, so that no process is alone at the end.
    order = sorted(waiting, key=lambda cell: (cell.kind != "two", -cell.d, -cell.n))
    pool = ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn"))
    try:
        running = {pool.submit(measure, cell, seed): cell for cell in order}
        for done in as_completed(running):
            yield running[done], done.result()
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _code() -> str:
    """A hash of the code that measures."""
    from swingby.report.source_hash import hash_of

    names = ("geometry", "paths", "network", "data", "concepts", "runs")
    return hash_of(*(Path(__file__).with_name(f"{name}.py") for name in names), words=False)


def _read(path: Path, head: dict[str, Any]) -> dict[str, list[dict[str, Any]]]:
    def parts(plain: Any) -> tuple[dict[str, Any], dict[str, list[dict[str, Any]]]]:
        content = unsealed(plain)
        results = {str(name): list(runs) for name, runs in content["results"].items()}
        return {name: content[name] for name in head}, results

    known, results = json_of(path, "store", "file of swingby relu --store", parts)
    for name, value in head.items():
        if known[name] != value:
            asked = "be made by this code" if name == "code" else f"have {name} {value}"
            raise InvalidInput("store", path, f"must {asked}; take another file")
    return results


@dataclass(frozen=True)
class Exponent:
    r"""The threshold :math:`n^*(d) = c\, d^p`, where P(two) = 1/2, with intervals of 95 %."""

    p: float
    p_interval: tuple[float, float]
    at: dict[int, float]
    at_interval: dict[int, tuple[float, float]]


def threshold(found: Study, draws: int = 200) -> Exponent | None:
    r"""Fit logit P(two) = k (log n - log n*(d)), one n* a dimension, then :math:`n^* = c\,d^p`.

    Intervals come from drawing the counts of the cells again. None where the fit has no answer.
    """
    table = [
        (cell.d, cell.n, sum(run["count"] == 2 for run in runs), len(runs))
        for cell, runs in found.of("two")
        if cell.family == "gap"
    ]
    d, n, hits, total = (np.array(column, float) for column in zip(*table, strict=True))
    dims = np.unique(d)
    rng = np.random.default_rng(found.seed)
    best = _fit(d, n, hits, total, dims)
    if best is None:
        return None
    again = [
        _fit(d, n, rng.binomial(total.astype(int), hits / total), total, dims) for _ in range(draws)
    ]
    kept = np.array([one for one in again if one is not None])
    slopes = [_slope(dims, one) for one in kept]
    low, high = np.quantile(kept, (0.025, 0.975), axis=0)
    return Exponent(
        _slope(dims, best),
        (float(np.quantile(slopes, 0.025)), float(np.quantile(slopes, 0.975))),
        {int(one): math.exp(value) for one, value in zip(dims, best, strict=True)},
        {int(one): (math.exp(a), math.exp(b)) for one, a, b in zip(dims, low, high, strict=True)},
    )


def _slope(dims: Floats, logs: Floats) -> float:
    return float(np.polyfit(np.log(dims), logs, 1)[0])


def _fit(d: Floats, n: Floats, hits: Any, total: Floats, dims: Floats) -> Floats | None:
    """Log n* of each dimension, with one steepness for all."""
    from scipy.optimize import minimize
    from scipy.special import log_expit

    place = np.searchsorted(dims, d)

    def cost(at: Floats) -> float:
        z = math.exp(at[0]) * (np.log(n) - at[1:][place])
        return -float((hits * log_expit(z) + (total - hits) * log_expit(-z)).sum())

    first = np.concatenate([[0.5], np.full(len(dims), math.log(15.0))])
    done = minimize(cost, first, method="L-BFGS-B", bounds=[(-3, 3)] + [(0, 12)] * len(dims))
    logs: Floats = done.x[1:]
    return logs if done.success and (logs < 11.9).all() and (logs > 0.1).all() else None


def _judged(setting: str, statement: str, seen: Sequence[bool | None]) -> dict[str, Any]:
    """A row about a share of runs that has to reach the threshold of nine in ten."""
    decided = [bool(one) for one in seen if one is not None]
    row = {"source": "relu", "setting": setting, "edition": "", "statement": statement}
    return row | judged(share_of(decided), MOST)


def rows(found: Study) -> list[dict[str, Any]]:
    """The verdicts, with the fields of a row of the evidence table."""
    rows: list[dict[str, Any]] = []
    groups = _groups(found, "two", lambda cell: (FAMILIES.index(cell.family), cell.d))
    for _, group in sorted(groups.items()):
        # The most points of each dimension.
        cell = max((cell for cell, _ in group), key=lambda one: one.n)
        seen = [run["count"] == 2 for one, run in group if one == cell]
        setting = f"{cell.family}, d = {cell.d}, n = {cell.n}"
        rows.append(_judged(setting, "two extremal vectors for many points", seen))
    same = [run["same"] for _, runs in found.of("complete") for run in runs]
    rows.append(_judged("gaussian, d = 3, 4", "starts say two where all say two", same))
    for (family, d), group in _groups(found, "link", lambda cell: (cell.family, cell.d)).items():
        seen = [(run["count"] == 2, close(run), run["split"]) for _, run in group]
        both = [None if end is None else two == end for two, end, _ in seen]
        kept = "two extremal vectors, halves that split as they are: their loss"
        for words, some in (
            ("loss of two halves iff two extremal vectors", both),
            ("two extremal vectors: loss of two halves", [end for two, end, _ in seen if two]),
            ("loss of two halves: two extremal vectors", [two for two, end, _ in seen if end]),
            (kept, [end for two, end, split in seen if two and split]),
        ):
            rows.append(_judged(f"{family}, d = {d}", words, some))
    rows += [_mean_row(found, family) for family in FAMILIES]
    for family, group in _groups(found, "align", lambda cell: cell.family).items():
        setting = f"{family}, d = {_dims(group)}"
        near = [run["near"] >= 0.99 * run["neurons"] for _, run in group]
        aligned = [abs(run["aligned"] / run["neurons"] - 0.9) <= CLOSE for _, run in group]
        rows.append(_judged(setting, "99 % of neurons within 1 degree of their path", near))
        words = "90 % of neurons aligned (5 degrees) when predicted, to 2 points"
        rows.append(_judged(setting, words, aligned))
    for variant, group in _groups(found, "end", lambda cell: cell.variant).items():
        setting = f"{variant}, d = {_dims(group)}"
        rows.append(_judged(setting, "loss of two halves", [close(run) for _, run in group]))
        straight = [run["cosine"] >= STRAIGHT for _, run in group]
        rows.append(_judged(setting, f"neurons along beta (mean cosine {STRAIGHT})", straight))
    for cell, runs in found.of("concepts"):
        setting = f"{cell.family} start, {cell.d} concepts, {cell.n} neurons"
        near = [all(off is not None and abs(off) <= NEAR for off in run["off"]) for run in runs]
        off, linear = (_sizes([run[name] for run in runs]) for name in ("off", "linear"))
        row = _judged(setting, f"half-times of the rectified law to {NEAR:.1%}", near)
        rows.append(row | {"observed": f"{sum(near) / len(near):.1%}; {off}; linear: {linear}"})
    return rows


Group = list[tuple[Cell, dict[str, Any]]]


def _groups(found: Study, kind: str, key: Callable[[Cell], Any]) -> dict[Any, Group]:
    """The runs of a kind with their cells, by a key of the cells: one alone has too few."""
    groups: dict[Any, Group] = {}
    for cell, runs in found.of(kind):
        groups.setdefault(key(cell), []).extend((cell, run) for run in runs)
    return groups


def _dims(group: Group) -> str:
    return ", ".join(map(str, dict.fromkeys(cell.d for cell, _ in group)))


def _sizes(off: Sequence[Sequence[float | None]]) -> str:
    """Median errors by stage."""
    return " / ".join(f"{value:+.2%}" for value in np.nanmedian(np.array(off, float), axis=0))


def _mean_row(found: Study, family: str) -> dict[str, Any]:
    """The mean of loss / ((1 - 2d/n) sigma^2) of runs that ended at two halves, against 1."""
    group = _groups(found, "link", lambda cell: cell.family)[family]
    ended = [(cell.n - 2 * cell.d, cell.n, run["loss"]) for cell, run in group if close(run)]
    row = _judged(family, "mean loss is (1 - 2d/n) sigma^2 to 2 %", [])
    row |= {"predicted": "1", "seeds": len(ended), "needed": None}
    if len(ended) < 2:
        return row
    free, n, loss = np.array(ended, float).T
    ratios, w = loss / (free / n * SIGMA**2), free / free.sum()
    mean = float(w @ ratios)
    half = 1.96 * math.sqrt(float(w**2 @ (ratios - mean) ** 2))
    low, high = mean - half, mean + half
    row |= {"observed": f"{mean:.3f}", "interval": f"[{low:.3f}, {high:.3f}]"}
    return row | {"verdict": inside((low, high), 1 - CLOSE, 1 + CLOSE)}


def tables(found: Study) -> list[Grid]:
    """The verdicts, P(two), where training ends, and the largest counterexamples."""
    judged = rows(found)
    columns = ("setting", "statement", "predicted", "observed", "95 %", ">seeds", "verdict")
    fields = ("setting", "statement", "predicted", "observed", "interval", "seeds", "verdict")
    below = [counted(row["verdict"] for row in judged)]
    made = [Grid("ReLU", columns, [[str(row[one]) for one in fields] for row in judged], (), below)]

    def add(
        title: str, columns: str, lines: Iterable[Sequence[Any]], below: Sequence[str] = ()
    ) -> None:
        head = tuple(one.strip() for one in columns.split("|"))
        made.append(Grid(title, head, [[*map(str, line)] for line in lines], below=below))

    shares = [
        (c.family, c.d, c.n, Share(sum(run["count"] == 2 for run in runs), len(runs)))
        for c, runs in found.of("two")
    ]
    add("Two extremal vectors", "family | >d | >n | >share", shares, _threshold_text(found))
    ends = []
    for c, runs in found.of("link"):
        seen = [(run["count"] == 2, close(run)) for run in runs]
        counts = [seen.count((two, end)) for two in (True, False) for end in (True, False)]
        split = [close(run) for run in runs if run["count"] == 2 and run["split"]]
        still = sum(end is None for _, end in seen)
        ends.append((c.family, c.d, c.n, *counts, still, f"{split.count(True)} of {len(split)}"))
    names = "family | >d | >n | >two, halves | >two, not | >more, halves | >more, not"
    add("Where training ends", f"{names} | >not ended | >same split: halves", ends)
    wrong = [
        (*(one[name] for name in ("family", "d", "n", "run", "count")), f"{one['ratio']:.3f}")
        for one in counterexamples(found)
    ]
    names = "family | >d | >n | >run | >extremal vectors | >loss / that of halves"
    below = ["A loss below 0.98 of that of the halves ends a run."]
    add("Counterexamples to the link", names, wrong, below)
    turned = []
    for c, runs in found.of("align"):
        bins = np.sum([run["histogram"] for run in runs], axis=0)
        time = np.median([run["time"] for run in runs])
        shown = [f"{value / bins.sum():.1%}" for value in bins]
        turned.append((c.family, c.d, c.n, f"{time:.1f}", *shown))
    names = " | ".join(["family | >d | >n | >time", *(f">{a} to {b}" for a, b in pairwise(BINS))])
    below = ["Degrees between neurons and their limits, when nine in ten should be within 5."]
    add("Alignment", names, turned, below)
    return made


def _threshold_text(found: Study) -> list[str]:
    """The exponent in words."""
    fitted = threshold(found)
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


def counterexamples(found: Study, most: int = 12) -> list[dict[str, Any]]:
    """Runs in which the link fails: data are `draw` at the seed, and can be drawn again."""
    kinds: dict[bool, list[dict[str, Any]]] = {True: [], False: []}
    for cell, runs in found.of("link"):
        for run in runs:
            two = run["count"] == 2
            if close(run) is (not two):
                ratio = run["loss"] / run["halves"]
                size = abs(math.log(max(ratio, 1e-9))) if two else run["count"]
                about = {"family": cell.family, "d": cell.d, "n": cell.n, "ratio": ratio}
                kinds[two].append({**about, "size": size, **run})
    largest = [sorted(some, key=lambda one: -one["size"])[: most // 2] for some in kinds.values()]
    return [one for some in largest for one in some]
