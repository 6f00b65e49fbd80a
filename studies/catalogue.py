"""The studies by name: the cells of each, how one is measured, what is judged, and its canary.

What a cell gives is kept as JSON. The canary of a study is a cheap cell, or the first runs of one:
its numbers are recorded beside the rows, and a test measures them again.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from studies.plan import Plan, load_plan
from swingby.lab.figures.evidence import EvidenceRow
from swingby.report import Grid
from swingby.theory.verdict import Share, Verdict, all_hold, judged, share_of, within_bar

#: What is predicted for all runs has to come true in so many.
MOST = 0.9
Results = Mapping[str, Any]
Numbers = dict[str, Any]


@dataclass(frozen=True)
class Study:
    """An experiment: its cells by name, and what is made of them."""

    about: str
    #: From the plan, cells by name.
    cells: Callable[[Plan], Mapping[str, Any]]
    #: From a cell, what JSON can hold.
    measure: Callable[[Any], Any]
    #: From the plan, numbers of its canary that the record holds, too.
    canary: Callable[[Plan], Numbers]
    #: From what was measured in all cells, the rows of evidence.
    rows: Callable[[Results], list[EvidenceRow]]
    #: From what was measured in all cells, tables; without them, those of the rows.
    tables: Callable[[Results], list[Grid]] | None = None
    #: A file of the records in which what was measured is kept whole.
    whole: str = ""


def recorded_rows(results: Results) -> list[EvidenceRow]:
    """Rows that were made cell by cell."""
    return [EvidenceRow(**row) for rows in results.values() for row in rows]


def plain_rows(rows: Iterable[EvidenceRow]) -> list[dict[str, Any]]:
    """Rows as JSON can hold them."""
    return [asdict(row) for row in rows]


def rows_of_shares(source: str, setting: str, shares: Mapping[str, Share]) -> Iterator[EvidenceRow]:
    """Rows about shares of runs, by statement, that have to reach the threshold."""
    for statement, share in shares.items():
        yield EvidenceRow(source, setting, "", statement, **judged(share, MOST))


def plain_numbers(values: Any) -> Any:
    """Nested lists of floats, None where there is no number."""
    array = np.asarray(values, dtype=np.float64)
    if array.ndim:
        return [plain_numbers(entry) for entry in array]
    return float(array) if np.isfinite(array) else None


# The iterated map.


def _map_cells(_: Plan) -> Mapping[str, Any]:
    from swingby.verify.compare import paper_settings

    return {setting.title: setting for setting in paper_settings()}


def _map_rows(setting: Any) -> list[dict[str, Any]]:
    """Half-times within their bars in one setting of the figures."""
    comparison = setting.compare()
    law, run = comparison.schedule, comparison.run
    figure, _, rest = setting.title.partition(" (")
    edition, _, kind = rest.partition("), ")
    inside = all_hold(
        within_bar(crossing, error, half_time, float(run.steps[-1]))
        for crossing, error, half_time in zip(law.crossing, law.error, run.half_times, strict=True)
    )
    predicted, observed = (", ".join(map(_step, timed.half_times)) for timed in (law, run))
    about = ("map", f"{figure}, {kind}", edition, "half-times within their bars")
    return plain_rows([EvidenceRow(*about, predicted, observed, "", inside, 1, None)])


def _step(value: float) -> str:
    return f"{value:.0f}" if math.isfinite(value) else "never" if math.isinf(value) else "-"


def _map_canary(plan: Plan) -> Numbers:
    comparison = _map_cells(plan)[plan["canary"]].compare()
    law, run = comparison.schedule, comparison.run
    return {
        "crossing": plain_numbers(law.crossing),
        "error": plain_numbers(law.error),
        "observed": plain_numbers(run.half_times),
    }


# Networks.


def _autograd_cells(plan: Plan) -> Mapping[str, Any]:
    from studies.law_errors import draw_starts

    rng = np.random.default_rng(plan["seed"])
    return {
        f"omega {name}, d = {d}": (
            f"omega {name}, d = {d}",
            draw_starts(plan["runs"], d, rng, omega=tuple(ends)),
        )
        for name, ends in plan["omega"].items()
        for d in plan["dimensions"]
    }


def _autograd_rows(cell: Any) -> list[dict[str, Any]]:
    """U U^T trained by torch from random weights, against the stage law."""
    from studies.law_errors import law_errors

    name, starts = cell
    errors = law_errors(starts, gradient="written")
    right, wrong, _ = errors.descents.sum(axis=0).tolist()
    shares = {
        "half-times to the step": share_of(np.abs(errors.off) <= 1),
        "number of descents": Share(right, right + wrong),
    }
    return plain_rows(rows_of_shares("autograd", name, shares))


def _autograd_canary(plan: Plan) -> Numbers:
    from studies.law_errors import Starts, law_errors

    _, starts = _autograd_cells(plan)[plan["canary"]]
    first = Starts(starts.settings[: plan["canary_runs"]], starts.U[: plan["canary_runs"]])
    errors = law_errors(first, gradient="written")
    return {
        "crossing": plain_numbers(first.law.crossing),
        "off": plain_numbers(errors.off),
        "peaks": plain_numbers(errors.peaks),
        "descents": plain_numbers(errors.descents),
    }


def _network_cells(plan: Plan) -> Mapping[str, Any]:
    from studies.survival import standard_cells

    return {cell.name: cell for cell in standard_cells(plan["seed"], plan["runs"])}


def _network_rows(cell: Any) -> list[dict[str, Any]]:
    """Networks that the theory was not made for, against what it says of their weights."""
    from studies.survival import survival

    rows = []
    for outcome in survival([cell]).outcomes:
        (row,) = rows_of_shares("networks", cell.name, {outcome.prediction: outcome.share})
        predicted = f"{outcome.control:.1%}, as in theory" if outcome.about else f"in {MOST:.0%}"
        needed = None if outcome.about else row.needed
        rows.append(
            dataclasses.replace(row, predicted=predicted, verdict=outcome.verdict, needed=needed)
        )
    return plain_rows(rows)


def _network_canary(plan: Plan) -> Numbers:
    from studies.survival import expect
    from swingby.lab.networks.training import train

    cell = dataclasses.replace(_network_cells(plan)[plan["canary"]], runs=plan["canary_runs"])
    expected = expect(cell.settings)
    run = train(cell.settings, record=cell.setting.total_steps)
    return {
        "half-times": plain_numbers(expected.half_times),
        "descents": plain_numbers(expected.descents),
        "transient": plain_numbers(expected.transient),
        "observed": plain_numbers(run.jacobian_half_times),
    }


def _deep_cells(plan: Plan) -> Mapping[str, Any]:
    from studies.deep_networks import CELLS

    return {cell.name: (cell, plan["runs"], plan["seed"]) for cell in CELLS}


def _deep_rows(job: Any) -> list[dict[str, Any]]:
    """Deep linear networks, against the half-times that their first layers predict."""
    from studies.deep_networks import trained

    cell = job[0]
    runs = trained(*job)
    barred = [run for run in runs if np.isfinite(run.leading.error).all()]
    shares = {
        "half-times within their bars": share_of([run.inside("full") for run in runs]),
        "half-times to the step": share_of([(np.abs(run.off) <= 1).all() for run in runs]),
        "order": share_of([run.in_order("full") for run in runs]),
        "leading order within its bars": share_of([run.inside("leading") for run in barred]),
    }
    return plain_rows(rows_of_shares("deep", cell.name, shares))


def _deep_canary(plan: Plan) -> Numbers:
    from studies.deep_networks import trained

    cell, _, seed = _deep_cells(plan)[plan["canary"]]
    runs = trained(cell, plan["canary_runs"], seed)
    return {
        "crossing": plain_numbers([run.full.crossing for run in runs]),
        "leading": plain_numbers([run.leading.crossing for run in runs]),
        "observed": plain_numbers([run.half_times for run in runs]),
    }


def _table_cells(plan: Plan) -> Mapping[str, Any]:
    return {name: (name, plan["runs"], plan["seed"]) for name in plan["tables"]}


def _table_grids(job: tuple[str, int, int]) -> list[dict[str, Any]]:
    """The tables of a study of networks."""
    from studies.network_tables import TABLES

    name, runs, seed = job
    return [asdict(grid) for grid in TABLES[name](runs, seed)]


def _table_canary(plan: Plan) -> Numbers:
    job = (plan["canary"], plan["canary_runs"], plan["seed"])
    return {"rows": [list(row) for grid in _table_grids(job) for row in grid["rows"]]}


def _tables_of(results: Results) -> list[Grid]:
    return [Grid(**grid) for grids in results.values() for grid in grids]


# The figures of the paper.


def _figure_cells(_: Plan) -> Mapping[str, Any]:
    from swingby.lab.figures.make import all_figures

    return {f"Fig. {figure.number}": figure.number for figure in all_figures()}


def _made_figure(number: str) -> tuple[Any, ...]:
    from swingby.lab.figures.make import make_figures
    from swingby.theory.law.compiled import folder

    # What is there is kept: an interrupted study goes on.
    return make_figures(folder() / "figures", only=number, progress=False).made


def _figure_rows(number: str) -> list[dict[str, Any]]:
    """The criteria of a figure."""
    from swingby.lab.figures.make import figure

    seeds = {
        edition.name: int(edition.parameters.get("seeds", 1)) for edition in figure(number).editions
    }
    return plain_rows(
        EvidenceRow(
            "figures", f"Fig. {number}", made.edition, criterion.id, criterion.paper,
            measured.value, "", measured.verdict, seeds[made.edition], None,
        )
        for made in _made_figure(number)
        for criterion, measured in made.judged
    )  # fmt: skip


def _figure_canary(plan: Plan) -> Numbers:
    from swingby.lab.figures.make import figure

    chosen = figure(_figure_cells(plan)[plan["canary"]])
    return {
        f"{edition.name}, {criterion.id}": [measured.value, str(measured.verdict)]
        for edition in chosen.editions
        for criterion, measured in chosen.judge(
            chosen.compute(edition.given(quick=False), lambda share, words: None)
        )
    }


# Diffusion models.


def _vector_cells(plan: Plan) -> Mapping[str, Any]:
    from studies.vector_cells import CELLS

    return {cell.name: (cell, plan["runs"], plan["seed"]) for cell in CELLS}


def _vector_rows(job: Any) -> list[dict[str, Any]]:
    """Diffusion models of points, against their half-times and orders."""
    from studies.vector_cells import compare_cell

    cell, comparisons = job[0], compare_cell(*job)
    rows: list[EvidenceRow] = []
    for quantity in ("half-time", "order", "descents"):
        verdicts = [row.verdict for part in comparisons for row in part.of(quantity)]
        decided = [verdict for verdict in verdicts if verdict != Verdict.UNDECIDED]
        share = share_of([verdict == Verdict.HOLDS for verdict in decided])
        rows += rows_of_shares("vectors", cell.name, {quantity: share})
    return plain_rows(rows)


def _vector_canary(plan: Plan) -> Numbers:
    from studies.vector_cells import draw
    from swingby.lab.diffusion.vectors import compare_vectors

    cell, runs, seed = _vector_cells(plan)[plan["canary"]]
    settings = draw(cell, runs, np.random.default_rng(seed))[: plan["canary_runs"]]
    comparison = compare_vectors(settings)
    return {
        "half-times": plain_numbers([said.half_times for said in comparison.predictions]),
        "error": plain_numbers([said.error for said in comparison.predictions]),
        "observed": plain_numbers(comparison.runs[0].half_times),
    }


def _image_cells(_: Plan) -> Mapping[str, Any]:
    from swingby.lab.diffusion import recorded_plan

    plan = recorded_plan()
    return {f"{plan.name} {plan.digest}": plan}


def _image_courses(plan: Any) -> dict[str, Any]:
    """All courses of the plan: an hour on two cores; an interrupted one goes on."""
    from swingby.lab.diffusion import run_study
    from swingby.theory.law.compiled import folder

    return run_study(plan, folder() / "studies" / f"images {plan.digest}", progress=True).to_dict()


def _image_rows(results: Results) -> list[EvidenceRow]:
    """Diffusion models of images, judged by the rules of their plan; Figs. 6 and 19 beside it."""
    from swingby.lab.diffusion import Study as ImageStudy

    (plain,) = results.values()
    return rows_of_images(ImageStudy.from_dict(plain))


def rows_of_images(study: Any) -> list[EvidenceRow]:
    """The rows of a study of images."""
    from swingby.lab.diffusion import figure_rows, judge

    rows = []
    for row in judge(study).rows:
        said = row.prediction
        words = filter(None, (row.optimizer, said.concept, said.factor, said.signal))
        about = ("images", f"{study.plan.name}, {' '.join(words)}", "", said.kind, row.predicted)
        observed = f"{row.observed:.3g}" if math.isfinite(row.observed) else "-"
        interval = f"[{row.low:.3g}, {row.high:.3g}]" if math.isfinite(row.low) else ""
        rows.append(EvidenceRow(*about, observed, interval, row.verdict, row.runs, row.needed))
    return rows + [EvidenceRow(**row) for row in figure_rows(study)]


def _image_canary(_: Plan) -> Numbers:
    """The first two saves of a course, and the rows that the recorded courses give."""
    import tempfile
    from pathlib import Path

    from swingby.lab.diffusion import recorded_plan, recorded_study, train_course

    plan = recorded_plan()
    cell, seed = plan.jobs[0]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "course.safetensors"
        course = train_course(plan.preset_of(cell), cell, seed, file, until=3)
    return {
        "w": plain_numbers(course.w),
        "loss": plain_numbers(course.loss),
        "rows": [[row.observed, str(row.verdict)] for row in rows_of_images(recorded_study())],
    }


# Two-layer ReLU networks.


def _relu_cells(plan: Plan) -> Mapping[str, Any]:
    from swingby.lab.relu.runs import cells

    return {cell.name: (cell, plan["seed"]) for cell in cells(plan["quick"])}


def _relu_runs(job: Any) -> list[dict[str, Any]]:
    from swingby.lab.relu.runs import measure

    return measure(*job)


def _relu_rows(results: Results) -> list[EvidenceRow]:
    """Two-layer ReLU networks, as the quick study judges them."""
    from swingby.lab.relu import Study as ThresholdStudy
    from swingby.lab.relu import rows

    plan = load_plan("relu")
    study = ThresholdStudy(plan["seed"], plan["quick"], dict(results))
    return [EvidenceRow(**row) for row in rows(study)]


def _relu_canary(plan: Plan) -> Numbers:
    cell, seed = _relu_cells(plan)[plan["canary"]]
    runs = _relu_runs((dataclasses.replace(cell, runs=plan["canary_runs"]), seed))
    name = "concepts aligned d=3 n=32 runs=15"
    concepts = dataclasses.replace(_relu_cells(plan)[name][0], runs=plan["canary_runs"])
    off = [run["off"] for run in _relu_runs((concepts, seed))]
    return {"extremal vectors": [run["count"] for run in runs], "off": plain_numbers(off)}


STUDIES: dict[str, Study] = {
    "map": Study(
        "the iterated map, in the settings of the paper's figures",
        _map_cells, _map_rows, _map_canary, recorded_rows,
    ),
    "autograd": Study(
        "U U^T trained by automatic differentiation",
        _autograd_cells, _autograd_rows, _autograd_canary, recorded_rows,
    ),
    "networks": Study(
        "networks that the theory was not made for",
        _network_cells, _network_rows, _network_canary, recorded_rows,
    ),
    "deep": Study(
        "deep linear networks against the law of their layers",
        _deep_cells, _deep_rows, _deep_canary, recorded_rows,
    ),
    "figures": Study(
        "the paper's figures",
        _figure_cells, _figure_rows, _figure_canary, recorded_rows,
    ),
    "vectors": Study(
        "diffusion models of points",
        _vector_cells, _vector_rows, _vector_canary, recorded_rows,
    ),
    "images": Study(
        "diffusion models of images, as recorded",
        _image_cells, _image_courses, _image_canary, _image_rows, whole="diffusion_study.json",
    ),
    "relu": Study(
        "two-layer ReLU networks, as recorded",
        _relu_cells, _relu_runs, _relu_canary, _relu_rows, whole="relu_study.json",
    ),
    "tables": Study(
        "networks, in the tables of the documentation",
        _table_cells, _table_grids, _table_canary, lambda results: [], tables=_tables_of,
    ),
}  # fmt: skip
