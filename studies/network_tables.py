"""Tables of trained networks: which predictions of the theory come true, and how nearly.

Everything is drawn from the seed; no figure depends on the machine but for rounding.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any, NamedTuple

import numpy as np

from studies.law_errors import (
    SWING,
    LawErrors,
    OutputErrors,
    draw_starts,
    join_errors,
    law_errors,
    output_errors,
)
from studies.plan import RECORDS, Plan
from studies.study import Numbers, Results, Study
from studies.survival import expect, largest_minor, make_cell, recorded_survival, standard_cells
from swingby.lab.networks.forecast import Forecast, forecast
from swingby.lab.networks.setting import Data, Floats, Network, Optimizer, Setting
from swingby.lab.networks.training import train
from swingby.lab.networks.weights import gram
from swingby.report import Grid
from swingby.report.seals import sealed, unsealed
from swingby.theory.input_files import json_of
from swingby.theory.share import Share, share_of
from swingby.theory.task import SIMTask
from swingby.verify.predict_swing import predict_swing_batch

#: omega of the runs of :func:`laws`.
OMEGAS = {"1e-8 to 1e-5": (1e-8, 1e-5), "1e-4 to 1e-2": (1e-4, 1e-2), "0.05 to 0.2": (0.05, 0.2)}
#: (d, d'), many runs of small ones.
SHAPES = ((2, 2), (2, 4), (4, 4), (2, 8), (4, 8), (8, 8), (16, 8), (2, 16), (16, 16), (2, 32))
SCALES = (0.3, 0.1, 0.03, 0.01, 1e-3, 1e-5, 1e-8)
#: Fig. 2 (c).
FIG2 = SIMTask([1, 2], ["1/20", "1/20"])
#: The file of the records that holds what was measured.
_FILE = "network_tables.json"
#: Of the study of dimensions: largest eta a_max, and E w_ii(0).
STEP, OMEGA = 0.05, 1e-3


def percent(values: Floats, levels: Sequence[float] = (0.5, 0.99, 1.0)) -> str:
    """Quantiles of errors in percent.

    >>> percent(np.array([0.0, 0.001, 0.0125])), percent(np.array([]))
    ('0.1 / 1.23 / 1.25', '-')
    """
    numbers = values[~np.isnan(values)]
    if not numbers.size:
        return "-"
    return " / ".join(f"{100 * float(np.quantile(numbers, level)):.3g}" for level in levels)


def _grid(title: str, cells: Sequence[dict[str, str]], *below: str) -> Grid:
    """A table of rows that name their columns; all but words are aligned to the right."""
    words = ("U U^T", "one layer", "network", "no forecast, or not of all concepts")
    columns = [name if name in words else f">{name}" for name in cells[0]]
    return Grid(title, columns, [list(row.values()) for row in cells], below=below)


def laws(runs: int, seed: int) -> Iterator[Grid]:
    """U U^T by automatic differentiation, against the stage law."""
    rows, rng = [], np.random.default_rng(seed)
    for name, ends in OMEGAS.items():
        errors = []
        for d in (2, 3, 4, 5):
            starts = draw_starts(max(1, runs // 4), d, rng, omega=ends)
            errors.append(law_errors(starts))
            rows.append(_law_row(f"omega {name}, d = {d}", errors[-1]))
        rows.append(_law_row(f"omega {name}, all", join_errors(errors)))
    yield _grid(
        "The stage law against trained networks",
        rows,
        "errors of predicted / observed: half-times median / p99 / max and the largest number"
        " of steps off; peaks median / p99; turns of the test loss median / max",
        "traps: foreseen / false / missed; descents: as predicted / not / undecided by the law",
    )


def _law_row(label: str, found: LawErrors) -> dict[str, str]:
    return {
        "U U^T": label,
        "runs": str(len(found.traps)),
        "stages": str(len(found.half_times)),
        "half-times %": percent(found.half_times),
        "steps off": f"{np.nanmax(np.abs(found.off), initial=0):.0f}",
        "traps": " / ".join(map(str, found.traps.sum(axis=0))),
        "peaks": str(len(found.peaks)),
        "peak times %": percent(found.peaks[:, 0], (0.5, 0.99)),
        "heights %": percent(found.peaks[:, 1], (0.5, 0.99)),
        "descents": " / ".join(map(str, found.descents.sum(axis=0))),
        "turns %": percent(found.turns, (0.5, 1.0)),
    }


def one_layer(runs: int, seed: int) -> Iterator[Grid]:
    """One layer with and without finite steps, samples and batches, against Theorem 4.1."""
    task = SIMTask([1, 2], ["1/20", "1/20"], dim=8)
    rows = []
    for lr in (0.1, 0.01, 0.001):
        for count, kind, words in (
            (None, "gd", "infinite data, gd"),
            (64, "gd", "2 x 64 points, gd"),
            (64, "sgd", "2 x 64 points, sgd 32"),
            (50, "sgd", "2 x 50 points, sgd 32"),
            (1024, "sgd", "2 x 1024 points, sgd 32"),
        ):
            optimizer = Optimizer(kind, lr=lr, loss="paper", batch_size=32)
            network, steps = Network(1, bias=False), round(12 / lr)
            base = Setting(task, Data(count), network, optimizer, steps=steps, precision="float64")
            settings = [replace(base, seed=seed + k) for k in range(runs)]
            rows.append(_output_row(f"lr {lr:g}, {words}", output_errors(settings)))
    yield _grid(
        "Theorem 4.1 against gradient descent",
        rows,
        "output: largest error over the whole run, in units of mu; median / p99 over runs",
        "half-time: median in steps; steps off: median / p99",
    )


def _output_row(label: str, found: OutputErrors) -> dict[str, str]:
    def off(values: Floats) -> str:
        sizes = np.abs(values)[np.isfinite(values)]
        return f"{np.median(sizes):.0f} / {np.quantile(sizes, 0.99):.0f}"

    return {
        "one layer": label,
        "runs": str(len(found.own)),
        "output, a of the task %": percent(found.population, (0.5, 0.99)),
        "output, own moment %": percent(found.own, (0.5, 0.99)),
        "half-time": f"{np.nanmedian(found.times):.0f}",
        "steps off, a of the task": off(found.half_times),
        "steps off, own moment": off(found.own_half_times),
    }


def scales(runs: int, seed: int) -> Iterator[Grid]:
    """W2 W1 against the law of its growing mode, as a function of the scale of the weights."""
    rows = []
    for scale in SCALES:
        network = Network(2, 5, bias=False, initialization="gaussian", scale=scale)
        steps = 3000 if scale > 1e-4 else 8000
        cell = make_cell("", network, steps=steps, lr=0.03, runs=runs, seed=seed)
        expected = expect(cell.settings)
        run = train(cell.settings, record=max(1, steps // 800))
        predicted = np.ceil(expected.half_times)
        decided_times = np.isfinite(predicted) & (predicted > 0)
        observed = run.jacobian_half_times
        error = np.where(
            decided_times, np.abs(predicted - observed) / np.maximum(observed, 1), np.nan
        )
        decided = expected.descents >= 0
        same = (expected.descents == run.descents(SWING))[decided].mean()
        size, J = largest_minor(run), run.jacobian
        skew = np.abs(J - J.swapaxes(2, 3)).max(axis=(1, 2, 3)) / 2
        rows.append(
            {
                "scale": f"{scale:g}",
                "runs": str(runs),
                "half-times %": percent(error),
                "descents as predicted": f"{same:.2f} of {int(decided.sum())}",
                "largest minor entry": f"{np.median(size):.2g}",
                "over the law's": f"{np.nanmedian(size / expected.transient):.2f}",
                "skew part": f"{np.median(skew / size):.2f}",
            }
        )
    yield _grid(
        "W2 W1 on the law of its growing mode, d = 3, d' = 5",
        rows,
        "half-times: median / p99 / max of the error, nothing fitted; skew part: largest entry"
        " of (W - W^T)/2 over the largest minor entry",
    )


def forecasts(runs: int, seed: int) -> Iterator[Grid]:
    """Later half-times from the first stage of a run, with half as many runs."""
    rows = []
    for cell in standard_cells(seed, max(1, runs // 2)):
        if cell.setting.task.dim < 64:
            run = train(cell.settings, record=max(1, cell.setting.total_steps // 1500))
            rows.append(_forecast_row(cell.name, forecast(run)))
    yield _grid(
        "Later half-times, forecast from the first stage",
        rows,
        "error in units of the time left at the cut, median / p90 over the later concepts of"
        " which all three forecasts exist",
        "law best: share of the judged runs in which the largest error of the law is the smallest",
    )


def _forecast_row(label: str, found: Forecast) -> dict[str, str]:
    judged = found.judged
    why = Counter(
        "no positive pivot"
        if "pivot" in reason_
        else reason_.removeprefix("undecided: ").split(",")[0]
        for reason_ in found.reason
        if reason_
    )
    names = ("law", "alone", "ratio")
    return {
        "network": label,
        "judged": f"{int(judged.sum())} of {len(judged)}",
        **{f"{name} %": percent(found.errors(name), (0.5, 0.9)) for name in names},
        "law best [95 %]": str(share_of(found.best[judged])),
        "no forecast, or not of all concepts": ", ".join(
            f"{count} {reason}" for reason, count in why.most_common(3)
        ),
    }


class Dimension(NamedTuple):
    """Networks U U^T of a dimension d and a width d'."""

    dim: int
    width: int
    #: Of networks with two descents of the test loss or more.
    trained: Share
    #: Of Gaussian W(0) with that, without and with those that the law leaves undecided because a
    #: swing is near the threshold.
    theory: Share
    theory_most: Share
    #: Quartiles of the largest minor entry over time.
    sizes: list[float]
    theory_sizes: list[float]


def transient_by_dimension(
    shapes: Sequence[tuple[int, int]], *, runs: int = 200, theory_runs: int = 4000, seed: int = 0
) -> list[Dimension]:
    r"""Train U U^T in several (d, d') and compare its transients with those of the law (App. E.2).

    The law says that the dimension itself does not matter: for Gaussian U(0) the block of W(0) on
    the s concepts is that of s rows of d' numbers, whatever d is, and directions without a concept
    hardly act on it while W(0) is small. What matters is d': minor entries are smaller than major
    ones by :math:`1/\sqrt{d'}` at the start. In high dimension transients are weaker because a
    network there is usually wide. The law gets `theory_runs` draws of W(0) on the concepts alone.

    >>> (found,) = transient_by_dimension([(2, 2)], runs=100, theory_runs=1000)
    >>> found.trained.low < found.theory_most.value and found.theory.value < found.trained.high
    True
    """
    signal = FIG2.signal[: FIG2.s]
    eta = STEP / float(signal.max())
    # Late enough for a pivot that is a hundred times smaller than omega.
    steps = (math.log(100 / OMEGA) + 8) / (2 * math.log1p(eta * float(signal.min())))
    optimizer = Optimizer("gd", lr=eta / 2, loss="paper")
    measured = []
    for index, (d, width) in enumerate(shapes):
        tau = math.sqrt(OMEGA / width)
        network = Network(2, width, "linear", False, True, "gaussian", tau)
        task = SIMTask(FIG2.mu, FIG2.sigma, d)
        # Seeds of their own for every shape.
        first = 1_000_000 * seed + max(1000, runs) * index
        base = Setting(
            task, Data(None), network, optimizer, steps=math.ceil(steps), precision="float64"
        )
        settings = [replace(base, seed=first + k) for k in range(runs)]
        run = train(settings, record=max(1, base.total_steps // 500))
        rng = np.random.default_rng([seed, index, theory_runs])
        W0 = gram(tau * rng.standard_normal((theory_runs, FIG2.s, width)))
        point = FIG2.test_point[: FIG2.s]
        law = predict_swing_batch(signal, W0, eta, "gd", test_point=point, swing=SWING)
        decided = law.least_descents >= 0
        fewest, largest = (
            share_of(counts[decided] >= 2) for counts in (law.least_descents, law.most_descents)
        )
        trained = share_of(run.descents(SWING) >= 2)
        sizes, heights = largest_minor(run), law.transient[np.isfinite(law.transient)]
        quartiles = [np.quantile(values, [0.25, 0.5, 0.75]).tolist() for values in (sizes, heights)]
        measured.append(Dimension(d, width, trained, fewest, largest, *quartiles))
    return measured


def dimensions(runs: int, seed: int) -> Iterator[Grid]:
    """Transients against the dimension and the width, with five times as many runs."""
    measured = transient_by_dimension(SHAPES, runs=5 * runs, seed=seed)
    measured += transient_by_dimension([(32, 32)], runs=runs, seed=seed)
    rows = []
    for dimension in measured:
        theory = f"{dimension.theory.value:.3f} to {dimension.theory_most.value:.3f}"
        spreads = [
            f"{middle:.3f} ({low:.3f} to {high:.3f})"
            for low, middle, high in (dimension.sizes, dimension.theory_sizes)
        ]
        rows.append(
            [str(dimension.dim), str(dimension.width), str(dimension.trained), theory, *spreads]
        )
    columns = (">d", ">d'", ">two descents [95 %]", ">law", ">largest minor entry", ">law")
    below = ("largest minor entry: median (and quartiles) of the largest |w_ij| over time",)
    yield Grid("Transients against d and d', omega = 1e-3", columns, rows, below=below)


#: What each table asks.
TABLES: dict[str, Callable[[int, int], Iterator[Grid]]] = {
    "laws": laws,
    "one-layer": one_layer,
    "scales": scales,
    "forecast": forecasts,
    "dimension": dimensions,
}


def _table_cells(plan: Plan) -> Mapping[str, Any]:
    return {name: (name, plan["runs"], plan["seed"]) for name in plan["tables"]}


def _table_grids(job: tuple[str, int, int]) -> list[dict[str, Any]]:
    """The tables of a study of networks."""
    name, runs, seed = job
    return [asdict(grid) for grid in TABLES[name](runs, seed)]


def _table_canary(plan: Plan) -> Numbers:
    job = (plan["canary"], plan["canary_runs"], plan["seed"])
    return {"rows": [list(row) for grid in _table_grids(job) for row in grid["rows"]]}


def tables_of(results: Results) -> list[Grid]:
    """The tables of what was measured, after those of the recorded rows of networks."""
    survived = recorded_survival()
    measured = [Grid(**grid) for grids in results.values() for grid in grids]
    return [survived.to_overview(), survived.to_grid(), *measured]


def recorded_tables() -> list[Grid]:
    """The tables of the documentation that have a record."""
    file = RECORDS / _FILE
    whole = json_of(file, "record", "file of python -m studies", unsealed) if file.exists() else {}
    return tables_of(whole)


STUDY = Study(
    "networks, in the tables of the documentation",
    _table_cells,
    _table_grids,
    _table_canary,
    lambda results: [],
    tables=tables_of,
    data_file=_FILE,
    whole=lambda _, results: sealed(dict(results)),
)
