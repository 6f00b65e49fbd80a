"""Power: what a property test of a theory can see, measured beside what it saw."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from swingby.own_theory.comparing import off_text
from swingby.own_theory.family import Floats
from swingby.own_theory.kinds import Bound, Outcome, Passage, Prediction, Value
from swingby.own_theory.runs import Judged, judge, require_separate
from swingby.own_theory.settings import samples
from swingby.own_theory.statement import Statement
from swingby.report import Framed, Grid

#: Factors by which a prediction is multiplied: would a test have noticed?
FACTORS = (1.01, 1.03, 1.1, 1.3, 2.0)
#: The share of settings at which it has to be noticed, and that may stay undecided.
_SHARE = 0.05
#: How much the constant of a promise O(e) may differ between decades of e.
_GROWTH = 2.0


@dataclass(frozen=True)
class Power:
    """A prediction over many settings: how it did, and what the test would have seen.

    `broken`, `undecided`: shares of the settings; `worst`, `median`: off/allowed; `example`: a
    setting where it is broken. `words`: the power, in a line; `fault`: why it means nothing.
    """

    name: str
    count: int
    undecided: float
    broken: float
    worst: float
    median: float
    words: str
    fault: str = ""
    example: str = ""

    @property
    def faults(self) -> list[str]:
        """What speaks against the prediction or against the test of it, in sentences."""
        broken = f"{self.name}: broken at {self.broken:.1%} of the settings, {self.example}"
        undecided = f"{self.name}: undecided at {self.undecided:.0%} of the settings"
        return [
            *([broken] if self.broken else []),
            *([undecided] if self.undecided > _SHARE else []),
            *([self.fault] if self.fault else []),
        ]


@dataclass(frozen=True)
class TheoryTest(Framed):
    """A property test of a theory: every prediction at settings inside its assumptions.

    Parameters
    ----------
    theory : str
    settings : int
    rows : tuple of Power
    """

    theory: str
    settings: int
    rows: tuple[Power, ...]

    @property
    def faults(self) -> tuple[str, ...]:
        """What speaks against the theory or against the test, in sentences; empty if nothing."""
        return tuple(fault for row in self.rows for fault in row.faults)

    def records(self) -> list[Mapping[str, object]]:
        """The rows of :meth:`to_frame`, by column."""
        return [vars(row) for row in self.rows]

    def to_grid(self) -> Grid:
        """A row for each prediction, with its power."""
        columns = ["prediction", ">settings", ">broken", ">undecided", ">worst", ">median", "power"]
        rows = [
            [
                *(row.name, str(row.count), f"{row.broken:.1%}", f"{row.undecided:.1%}"),
                *(f"{row.worst:.3g}", f"{row.median:.2g}", row.words),
            ]
            for row in self.rows
        ]
        below = self.faults or ("Every prediction is kept; worst and median are off/allowed.",)
        title = f"{self.theory}: {self.settings} settings inside the assumptions"
        return Grid(title, columns, rows, below=["", *below])


def examined(statement: Statement, count: int = 200, rng: int = 0) -> TheoryTest:
    """Draw settings inside the assumptions, run them, judge every prediction, measure power."""
    generator = np.random.default_rng(rng)
    parts: dict[str, list[Judged]] = {}
    examples: dict[str, str] = {}
    total = 0
    for batch in samples(statement, count, generator):
        if not total:
            require_separate(batch.take(np.arange(min(3, batch.count))))
        for judged in judge(batch, int(generator.integers(2**31))).values():
            name = judged.promise.prediction.name
            parts.setdefault(name, []).append(judged)
            bad = np.flatnonzero(judged.ratio > 1)
            if len(bad) and name not in examples:
                examples[name] = f"e.g. {_pair(judged, bad[0])} at {batch.text(bad[0])}"
        total += batch.count
    rows = tuple(
        _power(statement, kind, parts[kind.name], examples.get(kind.name, ""))
        for kind in statement.predict
        if kind.name in parts
    )
    return TheoryTest(statement.name, total, rows)


def _pair(judged: Judged, index: int) -> str:
    predicted, observed = judged.predicted[index], judged.observed[index]
    if isinstance(predicted, str):
        return f"predicted {predicted}, observed {observed}"
    start = "" if np.isnan(predicted) else f"predicted {predicted:.5g}, "
    ratio = judged.ratio[index]
    value = "not by the end of the run" if np.isnan(observed) else f"{observed:.5g}"
    return f"{start}observed {value}, off/allowed {off_text(float(ratio))}"


def _power(statement: Statement, kind: Prediction, parts: list[Judged], example: str) -> Power:
    ratio = np.concatenate([part.ratio for part in parts])
    constants = [part.constant for part in parts if part.constant is not None]
    if constants:
        return _order(kind, parts, np.concatenate(constants))
    decided = ~np.isnan(ratio)
    finite = ratio[decided] if decided.any() else np.array([math.nan])
    words, fault = _words(statement, kind, parts, decided)
    worst, median = float(np.max(finite)), float(np.median(finite))
    share = float(np.mean(finite > 1))
    return Power(
        kind.name, len(ratio), float(np.mean(~decided)), share, worst, median, words, fault, example
    )


def _words(
    statement: Statement, kind: Prediction, parts: list[Judged], decided: Floats
) -> tuple[str, str]:
    """The power in words, and what is wrong with it."""
    if isinstance(kind, Outcome):
        predicted = np.concatenate([part.predicted for part in parts])
        labels = sorted({str(label) for label in predicted[decided.astype(bool)]})
        return f"labels met: {', '.join(labels)} of {len(kind.predicted)}", ""
    if isinstance(kind, Bound):
        return "worst is the share of the bound that is used", ""
    if not isinstance(kind, Passage | Value):
        return "the other order would show", ""
    predicted, observed, within = (
        np.concatenate([getattr(part, name) for part in parts]).astype(float)
        for name in ("predicted", "observed", "within")
    )
    if isinstance(kind, Value) and kind.stat:
        noise = float(
            np.nanmedian(np.concatenate([part.noise for part in parts if part.noise is not None]))
        )
        words = f"noise is {noise:.2g} x the promise at {statement.seeds} seeds"
        if noise <= 1:
            return words, ""
        seeds = int(statement.seeds * noise**2) + 1
        share = within / np.where(predicted == 0, np.nan, np.abs(predicted))
        if np.isnan(share).all():
            promised, told = "the promise", f"{noise:.2g} x the promise"
        else:
            promised = f"{float(np.nanmedian(share)):.2g}"
            told = f"{100 * noise * float(promised):.2g} %"
            promised = f"{100 * float(promised):.2g} %"
        required = f"give seeds={float(f'{seeds:.2g}'):.0f}, or promise less"
        return (
            f"{words}: POWERLESS, {seeds} seeds would do",
            f"{kind.name}: {statement.seeds} seeds tell {told}, and {promised} is promised:"
            f" {required}",
        )
    usable = np.isfinite(observed) & np.isfinite(predicted) & (predicted != 0)
    if not usable.any():
        return "-", ""
    predicted, observed, within = predicted[usable], observed[usable], within[usable]
    for factor in FACTORS:
        if np.mean(np.abs(observed - factor * predicted) > within) > _SHARE:
            return f"a factor {factor:g} would show", ""
    ratio = float(np.median(within / np.abs(predicted)))
    what = "time" if isinstance(kind, Passage) else "value"
    fault = (
        f"{kind.name}: within is {ratio:.1f} times the predicted {what}; a prediction wrong by a"
        " factor 2 would pass (POWERLESS)"
    )
    return "POWERLESS: a factor 2 would pass", fault


def _order(kind: Prediction, parts: list[Judged], constants: Floats) -> Power:
    """A promise O(e): its constant by decade of e, which may not grow as e becomes small."""
    sizes = np.concatenate([part.within for part in parts if part.within is not None])
    decided = np.isfinite(constants) & (sizes > 0)
    decades = np.floor(np.log10(sizes[decided]))
    rows = {
        int(decade): float(np.max(constants[decided][decades == decade]))
        for decade in sorted(set(decades), reverse=True)
        if np.sum(decades == decade) >= 5
    }
    largest = list(rows.values())[:1] or [math.nan]
    grown = {decade: value for decade, value in rows.items() if value > _GROWTH * largest[0]}
    words = "constant " + ", ".join(f"{value:.2g} at 1e{decade}" for decade, value in rows.items())
    few = f"{kind.name}: e has fewer than two decades of settings, so no order shows"
    example = (
        f"the constant grows to {max(grown.values()):.3g} at e=1e{min(grown)}" if grown else ""
    )
    undecided = float(np.mean(~decided)) if len(rows) > 1 else 1.0
    worst, median = float(np.max(constants)), float(np.median(constants))
    fault = "" if len(rows) > 1 else few
    return Power(
        kind.name,
        len(constants),
        undecided,
        float(bool(grown)),
        worst,
        median,
        words,
        fault,
        example,
    )
