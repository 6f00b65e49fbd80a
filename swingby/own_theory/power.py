"""Power: what a property test of a theory can see, measured beside what it saw."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from swingby.own_theory.comparing import row_of
from swingby.own_theory.family import Floats
from swingby.own_theory.kinds import Bound, Outcome, Passage, Prediction, Value
from swingby.own_theory.runs import Judged, can_differ, judge, require_separate, undecided_share
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
    setting where it is broken. `words`: the power, in a line; `fault`: why it means nothing;
    `reason`: why it is undecided, mostly.
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
    reason: str = ""

    @property
    def faults(self) -> list[str]:
        """What speaks against the prediction or against the test of it, in sentences."""
        broken = f"{self.name}: broken at {self.broken:.1%} of the settings, {self.example}"
        undecided = f"{self.name}: undecided at {self.undecided:.0%} of the settings"
        undecided += f": {self.reason}" if self.reason else ""
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
                examples[name] = f"e.g. {row_of(judged, bad[0]).text} at {batch.text(bad[0])}"
        total += batch.count
    rows = tuple(
        _power(statement, kind, parts[kind.name], examples.get(kind.name, ""))
        for kind in statement.predict
        if kind.name in parts
    )
    return TheoryTest(statement.name, total, rows)


def _power(statement: Statement, kind: Prediction, parts: list[Judged], example: str) -> Power:
    ratio = np.concatenate([part.ratio for part in parts])
    constants = [part.constant for part in parts if part.constant is not None]
    if constants:
        return _order(kind, parts, np.concatenate(constants))
    decided = ~np.isnan(ratio)
    undecided, reason = undecided_share(parts)
    finite = ratio[decided] if decided.any() else np.array([math.nan])
    words, fault = _words(statement, kind, parts, decided)
    worst, median = float(np.max(finite)), float(np.median(finite))
    share = float(np.mean(finite > 1))
    row = (kind.name, len(ratio), undecided, share, worst, median, words, fault, example, reason)
    return Power(*row)


def _words(
    statement: Statement, kind: Prediction, parts: list[Judged], decided: Floats
) -> tuple[str, str]:
    """The power in words, and what is wrong with it."""
    if isinstance(kind, Outcome):
        return _of_labels(kind, parts, decided)
    if isinstance(kind, Bound):
        return _of_bound(kind, np.concatenate([part.ratio for part in parts])[decided])
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
        if not math.isfinite(noise):
            return "the noise is not known", ""
        words = f"noise is {noise:.2g} x the promise at {statement.seeds} seeds"
        if noise <= 1:
            within = within * (1 + noise)  # a factor has to show beside the noise
            fault = _factor(kind, predicted, observed, within)[1]
            return (f"{words}: POWERLESS, a factor 2 would pass", fault) if fault else (words, "")
        seeds = int(statement.seeds * noise**2) + 1
        share = within / np.where(predicted == 0, np.nan, np.abs(predicted))
        if np.isnan(share).all():
            sides = f"are off by {noise:.2g} x within, which is more than within"
        else:
            promised = float(f"{float(np.nanmedian(share)):.2g}")
            sides = f"tell {100 * noise * promised:.2g} %, and {100 * promised:.2g} % is promised"
        required = f"give seeds={float(f'{seeds:.2g}'):.0f}, or promise less"
        return (
            f"{words}: POWERLESS, {seeds} seeds would do",
            f"{kind.name}: {statement.seeds} seeds {sides}: {required}",
        )
    return _factor(kind, predicted, observed, within)


def _of_labels(kind: Outcome, parts: list[Judged], decided: Floats) -> tuple[str, str]:
    """Every label has to be predicted somewhere; of one alone, a run could show another."""
    predicted = np.concatenate([part.predicted for part in parts])
    labels = sorted({str(label) for label in predicted[decided.astype(bool)]})
    words = f"labels met: {', '.join(labels) or 'none'} of {len(kind.predicted)}"
    missing = [label for label in kind.predicted if label not in labels]
    if not labels or (not missing and (len(labels) > 1 or can_differ(kind))):
        return words, ""
    if missing:
        required = f"{', '.join(missing)} is predicted at no setting inside: widen the numbers"
        required += ", or leave it out of predicted="
    else:
        required = f"observed= says {labels[0]} of any run: write what else a run may show"
    return f"{words}: POWERLESS", f"{kind.name}: {required} (POWERLESS)"


def _of_bound(kind: Bound, ratio: Floats) -> tuple[str, str]:
    """A limit off by a factor 2 has to be broken."""
    words = "worst is the share of the bound that is used"
    if kind.loose or not len(ratio) or np.mean(ratio > 1 / FACTORS[-1]) > _SHARE:
        return f"{'loose, as stated: ' if kind.loose else ''}{words}", ""
    used = float(np.quantile(ratio, 1 - _SHARE))
    nearer = f"about {1 / used:.2g} times nearer" if used else "that a run comes near"
    required = f"type a limit {nearer}, or loose=True for a bound that is no estimate"
    share = f"at most {used:.2g} of it is used at {1 - _SHARE:.0%} of the settings"
    fault = f"{kind.name}: {share}; wrong by a factor 2 it would pass (POWERLESS): {required}"
    return "POWERLESS: a factor 2 would pass", fault


def _factor(
    kind: Passage | Value, predicted: Floats, observed: Floats, within: Floats
) -> tuple[str, str]:
    """The smallest factor that would show, and what is wrong if there is none."""
    usable = np.isfinite(observed) & np.isfinite(predicted) & (predicted != 0)
    if not usable.any():
        return "of a prediction of 0 no factor shows" if (predicted == 0).any() else "-", ""
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
