"""Every prediction against what was observed, from every source, as rows of one table.

The package ships a record of each study; what a user runs again lies in a file of her own and goes
before it. A record is named by the code that made it, so that rows of other code are told apart.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from swingby.errors import InvalidInput
from swingby.lab.field_checks import some_of
from swingby.lab.figures.figure import Tell
from swingby.report import Framed, Grid
from swingby.report.files import writable, write_json
from swingby.report.seals import unsealed
from swingby.report.source_hash import hash_of
from swingby.theory.input_files import json_of
from swingby.theory.share import Share, judged, share_of
from swingby.theory.verdict import Verdict, all_hold, counted, within_bar

#: Runs of a cell of networks, and settings of a cell of diffusion models.
RUNS, SETTINGS = 200, 100
#: What is predicted for all runs has to come true in so many.
MOST = 0.9
SEED = 7


@dataclass(frozen=True)
class Row:
    """One prediction, and what was observed."""

    #: The study, what was run, whose reading of the paper (empty for our own), what is said.
    source: str
    setting: str
    edition: str
    statement: str
    #: In words or digits; the interval of 95 %, empty where nothing is random.
    predicted: str
    observed: str
    interval: str
    verdict: Verdict
    #: Independent runs.
    seeds: int
    #: Runs at which the same observation decides the row; None where nothing is random, or where
    #: no number does.
    needed: int | None


def rows_of_shares(source: str, setting: str, shares: Mapping[str, Share]) -> Iterator[Row]:
    """Rows about shares of runs, by statement, that have to reach the threshold."""
    for statement, share in shares.items():
        yield Row(source, setting, "", statement, **judged(share, MOST))


def _told(parts: Mapping[str, Any], tell: Tell) -> Iterator[tuple[str, Any]]:
    """Each part with its name, which is told before it is made."""
    for place, (name, part) in enumerate(parts.items()):
        tell(place / len(parts), name)
        yield name, part


def map_rows(tell: Tell) -> Iterator[Row]:
    """The half-times of the iterated map against the stage law, in the settings of the figures."""
    from swingby.verify.paper_settings import paper_settings

    for title, setting in _told({one.title: one for one in paper_settings()}, tell):
        compared = setting.compare()
        law, run = compared.schedule, compared.run
        figure, _, rest = title.partition(" (")
        edition, _, kind = rest.partition("), ")
        inside = all_hold(
            within_bar(*one, float(run.steps[-1]))
            for one in zip(law.crossing, law.error, run.half_times, strict=True)
        )
        said, seen = (", ".join(map(_step, one.half_times)) for one in (law, run))
        about = ("map", f"{figure}, {kind}", edition, "half-times within their bars")
        yield Row(*about, said, seen, "", inside, 1, None)


def _step(value: float) -> str:
    return f"{value:.0f}" if math.isfinite(value) else "never" if math.isinf(value) else "-"


def autograd_rows(tell: Tell) -> Iterator[Row]:
    """U U^T trained by torch from random weights, against the stage law."""
    from swingby.lab.networks.law_errors import draw_starts, law_errors
    from swingby.lab.networks.studies import OMEGAS

    rng = np.random.default_rng(SEED)
    cells = {
        f"omega {name}, d = {d}": (d, (low, high))
        for name, (low, high, _) in OMEGAS.items()
        for d in (2, 3, 4, 5)
    }
    for setting, (d, omega) in _told(cells, tell):
        errors = law_errors(draw_starts(RUNS // 4, d, rng, omega=omega), gradient="written")
        right, wrong, _ = errors.descents.sum(axis=0).tolist()
        shares = {
            "half-times to the step": share_of(np.abs(errors.off) <= 1),
            "number of descents": Share(right, right + wrong),
        }
        yield from rows_of_shares("autograd", setting, shares)


def network_rows(tell: Tell) -> Iterator[Row]:
    """Networks that the theory was not made for, against what it says of their initial weights."""
    from swingby.lab.networks.survival import standard_cells, survival

    for name, cell in _told({one.name: one for one in standard_cells(SEED, RUNS)}, tell):
        for one in survival([cell]).outcomes:
            (row,) = rows_of_shares("networks", name, {one.prediction: one.share})
            predicted = f"{one.control:.1%}, as in theory" if one.about else f"in {MOST:.0%}"
            seeds = None if one.about else row.needed
            yield replace(row, predicted=predicted, verdict=one.verdict, needed=seeds)


def deep_rows(tell: Tell) -> Iterator[Row]:
    """Deep linear networks, against the half-times that their first layers predict."""
    from swingby.lab.networks.deep_networks import CELLS, trained

    for name, cell in _told({one.name: one for one in CELLS}, tell):
        runs = list(trained(cell, RUNS, SEED))
        barred = [one for one in runs if np.isfinite(one.leading.error).all()]
        shares = {
            "half-times within their bars": share_of([one.inside("full") for one in runs]),
            "half-times to the step": share_of([(np.abs(one.off) <= 1).all() for one in runs]),
            "order": share_of([one.in_order("full") for one in runs]),
            "leading order within its bars": share_of([one.inside("leading") for one in barred]),
        }
        yield from rows_of_shares("deep", name, shares)


def figure_rows(tell: Tell) -> Iterator[Row]:
    """The criteria of the paper's figures."""
    from swingby.lab.figures.catalogue import all_figures
    from swingby.lab.figures.make import make_figures
    from swingby.theory.compiled_text import folder

    for name, figure in _told({f"Fig. {one.number}": one for one in all_figures()}, tell):
        seeds = {one.name: int(one.parameters.get("seeds", 1)) for one in figure.editions}
        # What is there is kept: an interrupted study goes on.
        result = make_figures(folder() / "figures", only=figure.number, progress=False)
        for made in result.made:
            for criterion, seen in made.judged:
                about = ("figures", name, made.edition, criterion.id, criterion.paper, seen.value)
                yield Row(*about, "", seen.verdict, seeds[made.edition], None)


def vector_rows(tell: Tell) -> Iterator[Row]:
    """Diffusion models of points, against their half-times and orders."""
    from swingby.lab.diffusion.vectors.vector_comparison import CELLS, compare_cell

    for name, cell in _told({one.name: one for one in CELLS}, tell):
        parts = compare_cell(cell, SETTINGS, SEED)
        for quantity in ("half-time", "order", "descents"):
            verdicts = [row.verdict for part in parts for row in part.of(quantity)]
            decided = [one for one in verdicts if one != Verdict.UNDECIDED]
            share = share_of([one == Verdict.HOLDS for one in decided])
            yield from rows_of_shares("vectors", name, {quantity: share})


def image_rows(tell: Tell) -> Iterator[Row]:
    """Diffusion models of images, as the recorded study judges them."""
    from swingby.lab.diffusion import figure_rows, judge, recorded_study

    study = recorded_study()
    tell(0.0, study.plan.name)
    for row in judge(study).rows:
        said = row.prediction
        words = filter(None, (row.optimizer, said.concept, said.factor, said.signal))
        about = ("images", f"{study.plan.name}, {' '.join(words)}", "", said.kind, row.predicted)
        observed = f"{row.observed:.3g}" if math.isfinite(row.observed) else "-"
        interval = f"[{row.low:.3g}, {row.high:.3g}]" if math.isfinite(row.low) else ""
        yield Row(*about, observed, interval, row.verdict, row.runs, row.needed)
    yield from (Row(**one) for one in figure_rows(study))


def relu_rows(tell: Tell) -> Iterator[Row]:
    """Two-layer ReLU networks, as the quick study in the package judges them."""
    from swingby.lab import relu

    tell(0.0, "swingby relu --quick")
    yield from (Row(**one) for one in relu.rows(relu.recorded_study()))


class Study(NamedTuple):
    """What a study is, what makes its rows, and the sources that it is made by.

    With the sources counts all that they import.
    """

    about: str
    rows: Callable[[Tell], Iterator[Row]]
    sources: tuple[str, ...] = ()


_TRAINING = ("lab/networks/law_errors.py", "lab/networks/survival.py")
_FIGURES = ("lab/figures/make.py", "figures/paper/*.py")
STUDIES: dict[str, Study] = {
    "map": Study(
        "the iterated map, in the settings of the paper's figures", map_rows, ("verify/compare.py",)
    ),
    "autograd": Study("U U^T trained by automatic differentiation", autograd_rows, _TRAINING),
    "networks": Study("networks that the theory was not made for", network_rows, _TRAINING),
    "deep": Study(
        "deep linear networks against the law of their layers",
        deep_rows,
        ("lab/networks/deep_networks.py",),
    ),
    "figures": Study("the paper's figures", figure_rows, _FIGURES),
    "vectors": Study(
        "diffusion models of points", vector_rows, ("lab/diffusion/vectors/vector_comparison.py",)
    ),
    "images": Study(
        "diffusion models of images, as recorded", image_rows, ("lab/diffusion/judgement.py",)
    ),
    "relu": Study(
        "two-layer ReLU networks, as recorded", relu_rows, ("lab/relu/threshold_study.py",)
    ),
}
FORMAT = "swingby evidence 1"
_TITLE = "Predicted against observed"
_WORDS = ("source", "setting", "edition", "statement", "predicted", "observed")


@dataclass(frozen=True)
class Evidence(Framed):
    """Rows of every study. Made by :func:`evidence`.

    `current`: whether the rows of a study were made by the code that is here.
    """

    rows: tuple[Row, ...]
    current: Mapping[str, bool]

    def __len__(self) -> int:
        return len(self.rows)

    def _repr_html_(self) -> str:
        return self.to_overview().to_html()

    @property
    def _count(self) -> str:
        return f"{len(self.rows)} rows: {counted(row.verdict for row in self.rows)}."

    def to_overview(self) -> Grid:
        """How many rows of each study and statement hold, fail and are open."""
        groups: dict[tuple[str, str], list[Verdict]] = {}
        for row in self.rows:
            groups.setdefault((row.source, row.statement), []).append(row.verdict)
        rows = [
            [*about, *(str(found.count(one)) for one in Verdict)] for about, found in groups.items()
        ]
        old = [name for name, same in self.current.items() if not same]
        below = [self._count, *(f"{name}: {STUDIES[name].about}." for name in self.current)]
        if old:
            below.append(f"Recorded by other code than this: {', '.join(old)}; see --update.")
        columns = ("source", "statement", ">hold", ">fail", ">undecided")
        return Grid(_TITLE, columns, rows, below=below)

    def to_grid(self) -> Grid:
        """A line a row."""
        rows = []
        for row in self.rows:
            needed = "-" if row.needed is None else str(row.needed)
            cells = [*(getattr(row, name) for name in _WORDS), row.interval, str(row.seeds)]
            rows.append([*cells, needed, str(row.verdict)])
        columns = (*_WORDS, "95 %", ">seeds", ">needed", "verdict")
        below = "needed: seeds at which what was observed, if it stays as it is, decides the row"
        return Grid(_TITLE, columns, rows, below=(below, self._count))

    def records(self) -> list[dict[str, Any]]:
        """One row per prediction."""
        return [asdict(row) for row in self.rows]

    def to_dict(self) -> dict[str, Any]:
        """The rows as JSON can hold them."""
        return {"current": dict(self.current), "rows": self.records()}

    def to_text(self, *, width: int | None = None, color: bool = False) -> str:
        """How many rows of each study and statement hold, fail and are open."""
        return self.to_overview().to_text(width=width, color=color)


def evidence(
    source: str | Sequence[str] | None = None,
    *,
    record: str | Path | None = None,
    verdict: str | None = None,
) -> Evidence:
    """Every prediction against what was observed, as it is recorded.

    `source`: of ``map``, ``autograd``, ``networks``, ``deep``, ``figures``, ``vectors``,
    ``images``, ``relu``; all by default.
    `record`: a file that :func:`update` wrote: its studies go before those of the package.
    `verdict`: these rows alone.
    Raises InvalidInput for a source or a verdict that does not exist, and a file that cannot be
    read.

    Examples
    --------
    >>> found = evidence("images")
    >>> found.rows[0].source, found.rows[0].statement
    ('images', 'sooner')
    """
    names = some_of(source, "source", STUDIES)
    if verdict is not None and verdict not in list(Verdict):
        raise InvalidInput("verdict", verdict, f"must be among {', '.join(Verdict)}")
    known = _shipped() | ({} if record is None else _read(record))
    rows: list[Row] = []
    current = {}
    for name in names:
        if name in known:
            found = map(_row, known[name]["rows"])
            rows += [row for row in found if verdict is None or row.verdict == verdict]
            current[name] = known[name]["code"] == code_of(name)
    return Evidence(tuple(rows), current)


def update(
    source: str | Sequence[str] | None,
    record: str | Path,
    *,
    force: bool = False,
    tell: Tell | None = None,
) -> tuple[str, ...]:
    """Make the studies again whose code has changed, keep them, and say which verdicts moved.

    `record`: A JSON file; a study is in it as soon as it is finished.
    `force`: also those whose code is the same.
    `tell`: gets a share from 0 to 1 and a few words.
    Returns a line for each verdict that moved.
    """
    with writable(record, "record") as path:
        own = _read(path) if path.exists() else {}
    known = _shipped() | own
    moved: list[str] = []
    for name in some_of(source, "source", STUDIES):
        before = known.get(name)
        code = code_of(name)
        if before is not None and before["code"] == code and not force:
            continue
        # A file that cannot be written is found out now, not after hours of study.
        write_json(path, {"format": FORMAT, "studies": own}, "record")
        rows = list(STUDIES[name].rows(_telling(name, tell)))
        own[name] = {"code": code, "rows": [asdict(row) for row in rows]}
        write_json(path, {"format": FORMAT, "studies": own}, "record")
        old = {_key(row): row.verdict for row in map(_row, before["rows"] if before else ())}
        moved += [
            f"{name}: {', '.join(filter(None, _key(row)))}: {old[_key(row)]} -> {row.verdict}"
            for row in rows
            if old.get(_key(row), row.verdict) != row.verdict
        ]
    return tuple(moved)


def code_of(name: str) -> str:
    """A hash of the code that makes a study."""
    package, study = Path(__file__).parents[1], STUDIES[name]
    parts = [path for source in study.sources for path in package.glob(source)]
    text = inspect.getsource(study.rows) + hash_of(*parts, words=False)
    return hashlib.sha256(text.encode()).hexdigest()


def _shipped() -> dict[str, Any]:
    file = resources.files("swingby").joinpath("data/evidence.json")
    studies: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))["studies"]
    return studies


def _read(path: str | Path) -> dict[str, Any]:
    def studies(plain: Any) -> dict[str, Any]:
        content = unsealed(plain)
        if content["format"] != FORMAT:
            raise ValueError(content["format"])
        found: dict[str, Any] = content["studies"]
        for study in found.values():
            list(map(_row, study["rows"]))
            str(study["code"])
        return found

    return json_of(path, "record", "file of swingby evidence --update", studies)


def _row(plain: Mapping[str, Any]) -> Row:
    return Row(**{**plain, "verdict": Verdict(plain["verdict"])})


def _key(row: Row) -> tuple[str, str, str]:
    return row.setting, row.edition, row.statement


def _telling(name: str, tell: Tell | None) -> Tell:
    """What tells how far a study is, under its name."""
    return lambda share, words: None if tell is None else tell(share, f"{name}: {words}")
