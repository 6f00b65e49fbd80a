"""Where rows of evidence come from: each study, as predictions with what was observed."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from swingby.figures.figure import Tell
from swingby.theory.verdict import Verdict, all_hold
from swingby.training.shares import Share, needed, reaches

#: Runs of a cell of networks, and settings of a cell of diffusion models.
RUNS, SETTINGS = 200, 100
#: What is predicted for all runs has to come true in so many.
MOST = 0.9
SEED = 7


@dataclass(frozen=True)
class Row:
    """One prediction, and what was observed.

    Parameters
    ----------
    source, setting, edition, statement : str
        The study, what was run, whose reading of the paper (empty for our own), what is said.
    predicted, observed, interval : str
        In words or digits; the interval of 95 %, empty where nothing is random.
    verdict : Verdict
    seeds : int
        Independent runs.
    needed : int or None
        Runs at which the same observation decides the row; None where nothing is random, or where
        no number does.
    """

    source: str
    setting: str
    edition: str
    statement: str
    predicted: str
    observed: str
    interval: str
    verdict: Verdict
    seeds: int
    needed: int | None


def row_of_share(source: str, setting: str, statement: str, share: Share) -> Row:
    """A row about a share of runs that has to reach the threshold."""
    known = bool(share.total)
    return Row(
        source,
        setting,
        "",
        statement,
        f"in {MOST:.0%} of the runs",
        f"{share.value:.1%}" if known else "-",
        f"[{share.low:.1%}, {share.high:.1%}]" if known else "",
        reaches(share, MOST) if known else Verdict.UNDECIDED,
        share.total,
        needed(share, MOST),
    )


def map_rows(tell: Tell) -> list[Row]:
    """The half-times of the iterated map against the stage law, in the settings of the figures."""
    from swingby.verify.paper_settings import paper_settings

    found = []
    settings = list(paper_settings())
    for place, setting in enumerate(settings):
        tell(place / len(settings), setting.title)
        compared = setting.compare()
        said, run = compared.schedule, compared.run
        figure, _, rest = setting.title.partition(" (")
        edition, _, kind = rest.partition("), ")
        inside = [
            _inside(*one, float(run.steps[-1]))
            for one in zip(said.crossing, said.error, run.half_times, strict=True)
        ]
        found.append(
            Row(
                "map",
                f"{figure}, {kind}",
                edition,
                "half-times within their bars",
                ", ".join(map(_step, said.half_times)),
                ", ".join(map(_step, run.half_times)),
                "",
                all_hold(inside),
                1,
                None,
            )
        )
    return found


def _inside(crossing: float, error: float, observed: float, last: float) -> Verdict:
    """Whether the first whole step after a crossing is one that the bar allows."""
    if math.isnan(crossing):
        return Verdict.UNDECIDED
    if math.isnan(observed):
        return Verdict.HOLDS if crossing + error > last else Verdict.FAILS
    steps = math.ceil(crossing - error), math.ceil(crossing + error)
    return Verdict.HOLDS if steps[0] <= observed <= steps[1] else Verdict.FAILS


def _step(value: float) -> str:
    return f"{value:.0f}" if math.isfinite(value) else "never" if math.isinf(value) else "-"


def autograd_rows(tell: Tell) -> list[Row]:
    """U U^T trained by torch from random weights, against the stage law."""
    from swingby.training.starts import draw_starts
    from swingby.training.symmetric import law_errors

    rng = np.random.default_rng(SEED)
    ranges = (
        ("1e-8 to 1e-5", 1e-8, 1e-5),
        ("1e-4 to 1e-2", 1e-4, 1e-2),
        ("0.05 to 0.2", 0.05, 0.2),
    )
    found = []
    for place, (name, low, high) in enumerate(ranges):
        for d in (2, 3, 4, 5):
            tell((4 * place + d - 2) / 12, f"omega {name}, d = {d}")
            starts = draw_starts(RUNS // 4, d, rng, omega=(low, high), loss="both")
            errors = law_errors(starts, gradient="written")
            setting = f"omega {name}, d = {d}"
            near = np.asarray(np.abs(errors.off) <= 1)
            found.append(row_of_share("autograd", setting, "half-times to the step", _share(near)))
            right, wrong, _ = errors.descents
            descents = Share(right, right + wrong)
            found.append(row_of_share("autograd", setting, "number of descents", descents))
    return found


def network_rows(tell: Tell) -> list[Row]:
    """Networks that the theory was not made for, against what it says of their initial weights."""
    from swingby.training.cells import standard_cells
    from swingby.training.judging import THRESHOLD
    from swingby.training.survival import survival

    cells = standard_cells(seed=SEED, runs=RUNS)
    found = []
    for place, cell in enumerate(cells):
        tell(place / len(cells), cell.name)
        for one in survival([cell]).outcomes:
            share, typical = one.share, one.source == "typical W(0)"
            about = typical and one.prediction in ("descents", "transient")
            predicted = f"{one.control:.1%}, as in theory" if about else f"in {THRESHOLD:.0%}"
            found.append(
                Row(
                    "networks",
                    cell.name,
                    "",
                    one.prediction,
                    predicted,
                    f"{share.value:.1%}" if share.total else "-",
                    f"[{share.low:.1%}, {share.high:.1%}]" if share.total else "",
                    one.verdict,
                    share.total,
                    None if about else needed(share, THRESHOLD),
                )
            )
    return found


def figure_rows(tell: Tell) -> list[Row]:
    """The criteria of the paper's figures."""
    from swingby.figures.catalogue import all_figures
    from swingby.figures.make import make_figures
    from swingby.theory.law.compiled import folder

    found = []
    figures = all_figures()
    for place, figure in enumerate(figures):
        tell(place / len(figures), f"Fig. {figure.number}")
        # What is there is kept: an interrupted study goes on.
        result = make_figures(folder() / "figures", only=figure.number, progress=False)
        found += rows_of_figures(result.to_dict())
    return found


def rows_of_figures(content: dict[str, Any]) -> list[Row]:
    """The rows of a ``figures.json``."""
    from swingby.figures.catalogue import figure

    found = []
    for one in content["figures"]:
        parameters = {each.name: each for each in figure(one["figure"]).editions}[one["edition"]]
        seeds = int(parameters.given(quick=one["quick"]).get("seeds", 1))
        for criterion in one["criteria"]:
            found.append(
                Row(
                    "figures",
                    f"Fig. {one['figure']}",
                    one["edition"],
                    criterion["criterion"],
                    criterion["paper"],
                    criterion["measured"],
                    "",
                    Verdict(criterion["verdict"]),
                    seeds,
                    None,
                )
            )
    return found


def vector_rows(tell: Tell) -> list[Row]:
    """Diffusion models of points, against their half-times and orders."""
    from swingby.diffusion.vectors.compare import CELLS, compare_cell

    found = []
    for place, cell in enumerate(CELLS):
        tell(place / len(CELLS), cell.name)
        parts = compare_cell(cell, SETTINGS, SEED)
        for quantity in ("half-time", "order", "descents"):
            rows = [row for part in parts for row in part.of(quantity)]
            decided = [row.verdict for row in rows if row.verdict != Verdict.UNDECIDED]
            share = _share(verdict == Verdict.HOLDS for verdict in decided)
            found.append(row_of_share("vectors", cell.name, quantity, share))
    return found


def image_rows(tell: Tell) -> list[Row]:
    """Diffusion models of images, as the recorded study judges them; open until it was run."""
    from swingby.diffusion import judge
    from swingby.diffusion.study import recorded_so_far

    study = recorded_so_far()
    tell(0.0, study.plan.name)
    found = []
    for row in judge(study).rows:
        known, said = math.isfinite(row.observed), row.prediction
        about = (row.optimizer, said.concept, said.factor, said.signal)
        found.append(
            Row(
                "images",
                f"{study.plan.name}, {' '.join(filter(None, about))}",
                "",
                said.kind,
                row.predicted,
                f"{row.observed:.3g}" if known else "-",
                f"[{row.low:.3g}, {row.high:.3g}]" if math.isfinite(row.low) else "",
                row.verdict,
                row.runs,
                row.needed,
            )
        )
    return found


def _share(seen: Iterable[Any]) -> Share:
    values = [bool(one) for one in seen]
    return Share(sum(values), len(values))


_TRAINING = tuple(f"training/{name}.py" for name in ("starts", "survival", "symmetric"))
#: Sources in the package that a study is made by, with all that they import.
PARTS: dict[str, tuple[str, ...]] = {
    "map": ("verify/paper_settings.py",),
    "autograd": _TRAINING,
    "networks": _TRAINING,
    "figures": ("figures/make.py", "figures/paper/figure_*.py"),
    "vectors": ("diffusion/vectors/trials.py",),
    "images": ("diffusion/verdicts.py",),
}
