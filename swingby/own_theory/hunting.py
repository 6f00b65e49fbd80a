"""Hunt for a setting inside the assumptions of a theory at which a prediction is broken."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

import numpy as np

from swingby.errors import InvalidInput
from swingby.own_theory.comparing import TheoryRow, rows_of
from swingby.own_theory.family import Floats
from swingby.own_theory.kinds import Passage, Value
from swingby.own_theory.runs import (
    Judged,
    decided,
    judge,
    require_separate,
    undecided_share,
    worst,
)
from swingby.own_theory.settings import Settings, last_step, least_margin, margins, samples
from swingby.own_theory.simpler import EDGE, cost, digits, simpler
from swingby.own_theory.statement import Statement
from swingby.proofs.hunt.search_log import Clock
from swingby.report import Drawn, Grid
from swingby.report.files import storable
from swingby.report.number_text import counted
from swingby.theory import numbers
from swingby.theory.verdict import Finding

#: Relative move of every number under which a violation has to stay; copies of it; and how often
#: what it is broken by has to hold what the moves change.
_MOVE, _COPIES, _SPREAD = 1e-12, 12, 10
#: Times as many seeds decide a violation as a run has.
_MORE_SEEDS, _SCAN_SEEDS = 16, 2
#: Added to the seed where a counterexample is run again; it is none unless it is broken there, too.
_AGAIN = 7919
#: Settings after which a confirmed violation ends the search, and close ones that are kept.
_ENOUGH, _CLOSE = 96, 6
#: The share of settings at which a prediction that was tested may be undecided.
_MOST_UNDECIDED = 0.5
#: Settings of a hunt, and where these are cheap as many more as take so many steps.
_SETTINGS, _MOST, _WORK = 600, 10_000, 20_000_000
#: Values of a number in a scan.
_SCAN = 40
#: Stretches of a scan that are spelled out.
_TURNS = 7
#: A violation clearer than this factor stays so while it is made simpler.
_CLEAR = 2.0
#: Digits of a number above which a violation may become less clear.
_LONG = 3


@dataclass(frozen=True)
class Counterexample:
    """A setting inside the assumptions at which a prediction is broken.

    `numbers`: its numbers by name; `rows`: the broken predictions; `margins`: decades inside;
    `first`: the setting before it was made simpler.
    """

    numbers: Mapping[str, float]
    rows: tuple[TheoryRow, ...]
    margins: Mapping[str, float]
    first: str
    setting: Settings = field(repr=False)

    @property
    def longest(self) -> int:
        """Digits of the longest number."""
        return max(map(digits, self.numbers.values()))


@dataclass(frozen=True)
class TheoryHunt(Drawn):
    """A hunt for a counterexample to a theory, and its outcome.

    Parameters
    ----------
    theory : str
    verdict : Finding
        *refuted* with a confirmed counterexample, *tested* without, *undecided* where a violation
        was seen and not confirmed, or some prediction was not decided at most of the settings.
    violation : Counterexample or None
    instances, shrinks, unconfirmed : int
        Settings looked at; changes that made it simpler; violations that rounding or the seeds
        explain.
    scan : tuple of str
        For each number, where it is broken inside the assumptions as that number alone varies.
    hints : tuple of str
    undecided : dict from str to float
        By prediction the share of settings at which it was not decided, where that is not 0.
    reasons : dict from str to str
        Why, mostly.
    closest : float
        The largest off/allowed that was kept, at `closest_setting`.
    seconds : float
        Processor time used.
    """

    theory: str
    verdict: Finding
    violation: Counterexample | None = None
    instances: int = 0
    shrinks: int = 0
    unconfirmed: int = 0
    scan: tuple[str, ...] = ()
    hints: tuple[str, ...] = ()
    undecided: Mapping[str, float] = field(default_factory=dict)
    reasons: Mapping[str, str] = field(default_factory=dict)
    closest: float = math.nan
    closest_setting: str = ""
    seed: int = 0
    seconds: float = field(default=0.0, compare=False)

    @property
    def found(self) -> bool:
        """Whether a confirmed counterexample was found."""
        return self.violation is not None

    def rerun(self) -> bool:
        """Whether the counterexample is broken again, with numbers moved and on fresh seeds."""
        if self.violation is None:
            raise InvalidInput("hunt", self.theory, "must have found a counterexample")
        return is_confirmed(self.violation.setting, self.seed + _AGAIN)

    def to_grid(self) -> Grid:
        """The hunt in lines; the same text for the same seed."""
        among = f"in {counted(self.instances, 'setting')}"
        open_lines = [
            f"{name}: undecided at {share:.0%} of the settings: {self.reasons[name]}"
            for name, share in self.undecided.items()
        ]
        if self.violation is None:
            lines = [f"No counterexample {among}. That proves nothing.", *open_lines]
            if self.unconfirmed:
                count = counted(self.unconfirmed, "violation")
                lines.append(f"{count} not confirmed: rounding or the seeds explain them.")
            if not math.isnan(self.closest):
                lines += [
                    f"Closest: {self.closest:.3g} of the promise,",
                    f"  {self.closest_setting}",
                ]
        else:
            example = self.violation
            simpler_by = counted(self.shrinks, "change")
            lines = [f"Counterexample {among}, made simpler by {simpler_by}:"]
            lines += [f"  {example.setting.text()}"]
            lines += [f"  {row.prediction}: {row.text}" for row in example.rows]
            rounded = {name: round(margin, 2) + 0.0 for name, margin in example.margins.items()}
            inside = ", ".join(f"{name} {margin:+.2f}" for name, margin in rounded.items())
            lines += [f"  inside by (decades): {inside}"] if inside else []
            lines += [f"  {line}" for line in (*self.scan, *self.hints, *open_lines)]
        return Grid(f"Hunt: {self.theory}: {self.verdict}", [], [], above=lines)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        violation = self.violation
        plain = {name: value for name, value in vars(self).items() if name != "violation"}
        example = None if violation is None else dict(violation.numbers)
        more = {"verdict": str(self.verdict), "found": self.found, "violation": example}
        rows = () if violation is None else violation.rows
        more["broken"] = [storable({**vars(row), "verdict": row.verdict}) for row in rows]
        return storable({**plain, **more})


def hunt_theory(
    statement: Statement,
    /,
    seconds: float = 60,
    *,
    rng: int | None = None,
    count: int | None = None,
) -> TheoryHunt:
    """Look for a counterexample to a theory; see :class:`swingby.Theory`.

    It ends after `count` settings, by default 600 and more where runs are short, or after `seconds`
    of processor time: as long as time does not run out, the same seed `rng` gives the same text.
    """
    limit = numbers.within_float(numbers.positive(seconds, "seconds"), "seconds")
    seed = 0 if rng is None else numbers.whole(rng, "rng", 0)
    clock = Clock(limit)
    most = None if count is None else numbers.whole(count, "count", 1)
    search = _Search(statement, seed, clock, most)
    undecided, reasons = search.undecided()
    base: dict[str, Any] = {
        "instances": search.instances,
        "unconfirmed": search.unconfirmed,
        "undecided": undecided,
        "reasons": reasons,
        "seed": seed,
    }
    broken = [entry for entry in search.close if entry[0] > 1]
    for _, first in sorted(broken, key=lambda entry: (entry[1].family.length, -entry[0])):
        for setting, shrinks in (shrunk(first, seed, clock), (first, 0)):
            example = _example(setting, first, seed + _AGAIN)
            if example is not None:
                return TheoryHunt(
                    statement.name,
                    Finding.REFUTED,
                    example,
                    shrinks=shrinks,
                    scan=tuple(scan(setting, seed)),
                    hints=tuple(_constant_factors(search.results)),
                    seconds=clock.used,
                    **base,
                )
    close = [entry for entry in search.close if entry[0] <= 1]
    ratio, closest = close[0] if close else (math.nan, None)
    text = "" if closest is None else closest.text()
    is_tested = close and not broken and not search.open
    is_tested = is_tested and all(share <= _MOST_UNDECIDED for share in undecided.values())
    verdict = Finding.TESTED if is_tested else Finding.UNDECIDED
    more: dict[str, Any] = {"closest": ratio, "closest_setting": text}
    return TheoryHunt(statement.name, verdict, seconds=clock.used, **base, **more)


def _example(setting: Settings, first: Settings, seed: int) -> Counterexample | None:
    """A setting as a counterexample; None unless it is broken once more."""
    rows = rows_of(setting, _decided(setting, seed))
    broken = tuple(row for row in rows if row.verdict == "broken")
    if not broken or not is_confirmed(setting, seed):
        return None
    return Counterexample(
        {name: float(column[0]) for name, column in setting.scalars.items()},
        broken,
        {name: float(row[0]) for name, row in margins(setting).items()},
        first.text(),
        setting,
    )


class _Search:
    """Settings drawn, and drawn again near those that came close, until one is broken."""

    def __init__(self, statement: Statement, seed: int, clock: Clock, count: int | None) -> None:
        self.instances = self.unconfirmed = self.open = work = 0
        self.close: list[tuple[float, Settings]] = []
        self.results: list[Judged] = []
        rng = np.random.default_rng(seed)
        draws = iter(samples(statement, 1_000_000, rng))
        most = _SETTINGS if count is None else count
        while not clock.over():
            cheap = count is None and work < _WORK and self.instances < _MOST
            if self.instances >= most and not cheap:
                break
            batch = next(draws)
            if not self.instances:
                require_separate(batch.take(np.arange(min(3, batch.count))))
            elif self.close and rng.random() < 0.5:
                base = self.close[int(rng.integers(len(self.close)))][1]
                batch = _near(base, rng)
            if not batch.count:
                continue
            results = judge(
                batch, int(rng.integers(2**31)), sigmas=0.0 if statement.seeds > 1 else 4.0
            )
            self.results += results.values()
            self.instances += batch.count
            work += int(
                batch.count * statement.seeds * np.minimum(last_step(batch), statement.steps).max()
            )
            self._keep(batch, worst(results), seed)
            if self.close and self.close[0][0] > 1 and self.instances >= min(most, _ENOUGH):
                break

    def undecided(self) -> tuple[dict[str, float], dict[str, str]]:
        """Shares of settings at which a prediction was not decided, and why, by prediction."""
        by_name: dict[str, list[Judged]] = {}
        for judged in self.results:
            by_name.setdefault(judged.promise.prediction.name, []).append(judged)
        rows = {name: undecided_share(parts) for name, parts in by_name.items()}
        rows |= {
            name: (1.0, "of a promise O(e) a setting alone decides nothing; assert_theory does")
            for name, parts in by_name.items()
            if parts[0].constant is not None
        }
        open_rows = {name: row for name, row in rows.items() if row[0]}
        shares = {name: share for name, (share, _) in open_rows.items()}
        return shares, {name: reason for name, (_, reason) in open_rows.items()}

    def _keep(self, batch: Settings, ratio: Floats, seed: int) -> None:
        """Keep what came close; of what looks broken, what is confirmed."""
        for index in np.argsort(-ratio, kind="stable")[:3]:
            off, entry = float(ratio[index]), batch.take(index)
            if off > 1:
                off = confirmed(entry, seed + self.instances)
                self.unconfirmed += not off > 1
                self.open += math.isnan(off)
            if off >= 0:  # not nan, and not what no prediction decides
                self.close.append((off, entry))
        self.close = sorted(self.close, key=lambda pair: -pair[0])[:_CLOSE]


def _near(base: Settings, rng: np.random.Generator) -> Settings:
    """Settings near another, inside the assumptions."""
    chosen, many = base.family, base.repeated(32)
    scalars = {}
    for name, low, high in zip(chosen.names, chosen.low, chosen.high, strict=True):
        moved = np.exp(rng.normal(0, 0.5, 32) * (rng.random(32) < 0.5))
        scalars[name] = np.clip(many.scalars[name] * moved, low, high)
    draws = {
        name: array * np.exp(rng.normal(size=array.shape) * rng.choice([0.05, 0.3, 1.5], 32))
        for name, array in many.draws.items()
    }
    batch = Settings(chosen, scalars, draws)
    return batch.take(np.flatnonzero(least_margin(batch) >= 0))


# Confirmed, and made simpler


def _decided(setting: Settings, seed: int) -> dict[str, Judged]:
    """The judgement that counts: on many seeds, where there are seeds."""
    has_seeds = setting.family.statement.seeds > 1
    return decided(setting, seed, _MORE_SEEDS) if has_seeds else judge(setting, seed)


def is_confirmed(setting: Settings, seed: int, clear: float = 1.0) -> bool:
    """Whether a setting is broken on fresh seeds, or with every number moved by a rounding."""
    return confirmed(setting, seed) > clear


def confirmed(setting: Settings, seed: int) -> float:
    """How much a setting is off/allowed, at least; nan where a rounding, or a tail, decides."""
    if setting.family.statement.seeds > 1:
        return _over_seeds(setting, seed)
    rng = np.random.default_rng(seed)
    moved = setting.repeated(_COPIES).with_arrays(
        lambda array: array * (1 + _MOVE * rng.normal(size=array.shape))
    )
    ratio = worst(judge(moved, seed))
    low, high = float(ratio.min()), float(ratio.max())
    # What roundings move by a tenth of what it is broken by, roundings may have broken.
    is_sure = low > 1 and (math.isinf(high) or low - 1 > _SPREAD * (high - low))
    return low if is_sure else math.nan


def _over_seeds(setting: Settings, seed: int) -> float:
    """What two samples of many fresh seeds agree on: what is kept in one is not broken."""
    least = math.inf
    for more in (0, 1):
        results = _decided(setting, seed + more)
        least = min(least, float(worst(results)[0]))
        if least <= 1:
            return math.nan if any(np.isnan(x.ratio[0]) for x in results.values()) else least
    return least


def shrunk(setting: Settings, seed: int, clock: Clock) -> tuple[Settings, int]:
    """A counterexample made simpler, change after change; each is confirmed on its own."""
    changes, clear = 0, min(_CLEAR, float(worst(_decided(setting, seed))[0]))
    clear = max(1.0, clear * (1 - 1e-6))
    while True:
        changed = _simplest(setting, clear, seed + 101 * (changes + 1), clock)
        if changed is not None:
            setting, changes = changed, changes + 1
        elif clear > 1 and max(digits(x[0]) for x in setting.scalars.values()) > _LONG:
            clear = 1.0
        else:
            return setting, changes


def _simplest(setting: Settings, clear: float, seed: int, clock: Clock) -> Settings | None:
    """The simplest of the simpler settings that is as clearly broken."""
    for batch in simpler(setting):
        # Over seeds the estimate only suggests; fresh seeds decide.
        ratio = worst(judge(batch, seed, sigmas=0.0))
        order = np.argsort(cost(batch), kind="stable")
        for index in order[ratio[order] > clear][:20]:
            if clock.over():
                return None
            candidate = batch.take(index)
            if is_confirmed(candidate, seed + 1 + int(index), clear):
                return candidate
    return None


# Why


def scan(setting: Settings, seed: int) -> list[str]:
    """From a counterexample each number varied alone: where it is broken, of the values inside."""
    chosen, seeds = setting.family, setting.family.statement.seeds
    lines, everywhere = [], []
    spans = zip(chosen.names, chosen.low, chosen.usual, chosen.high, strict=True)
    for name, low, usual, high in spans:
        x = float(setting.scalars[name][0])
        grid = np.union1d(np.clip(np.geomspace(low, high, _SCAN), low, high), [x, usual])
        grid = np.unique(np.rint(grid)) if name in chosen.whole else grid
        batch = setting.repeated(len(grid)).with_scalars(**{name: grid})
        ratio = worst(judge(batch, seed, copies=_SCAN_SEEDS * seeds if seeds > 1 else None))
        inside = least_margin(batch) >= EDGE
        verdicts = np.select([ratio > 1, ratio >= 0], ["broken", "kept"], "undecided")
        pairs = zip(verdicts[inside].tolist(), grid[inside].tolist(), strict=True)
        runs = [(word, [y for _, y in run]) for word, run in groupby(pairs, lambda pair: pair[0])]
        if len(runs) == 1 and runs[0][0] == "broken":
            everywhere.append(name)
        else:
            lines.append(_scanned(name, runs, int(inside.sum())))
    if everywhere:
        lines.append(
            f"broken at every value tried of {', '.join(everywhere)} inside the assumptions"
        )
    return lines


def _scanned(name: str, runs: list[tuple[str, list[float]]], count: int) -> str:
    """Where a number is broken, of all that were tried, in a line.

    >>> _scanned("h", [("kept", [1, 2]), ("broken", [3, 4])], 4)
    'broken for h from 3 (kept at the values tried below)'
    >>> _scanned("h", [("broken", [1, 2]), ("kept", [3]), ("broken", [4])], 4)
    'of 4 values tried of h: broken from 1 to 2, kept at 3, broken at 4'
    """
    broken = [rank for rank, (word, _) in enumerate(runs) if word == "broken"]
    if len(broken) == 1:
        (rank,) = broken
        first, last = runs[rank][1][0], runs[rank][1][-1]
        start, end = f" from {first:.3g}", f" to {last:.3g}"
        sides = [(runs[:rank], start, "below"), (runs[rank + 1 :], end, "above")]
        words = [
            f"{edge} ({others[0][0]} at the values tried {side})"
            for others, edge, side in sides
            if len(others) == 1
        ]
        if len(words) == len(runs) - 1:
            return f"broken for {name}{''.join(words)}"
    spans = [
        f"{word} at {run[0]:.3g}" if len(run) == 1 else f"{word} from {run[0]:.3g} to {run[-1]:.3g}"
        for word, run in runs
    ]
    more = [f"and {len(spans) - _TURNS} more turns"] if len(spans) > _TURNS else []
    return f"of {count} values tried of {name}: {', '.join(spans[:_TURNS] + more)}"


def _constant_factors(results: list[Judged]) -> list[str]:
    """Predictions that a factor would bring back within their promise, at every violation."""
    by_name: dict[str, list[Judged]] = {}
    for judged in results:
        kind = judged.promise.prediction
        if isinstance(kind, Passage | Value):
            by_name.setdefault(kind.name, []).append(judged)
    lines = []
    for name, parts in by_name.items():
        predicted, observed, ratio, allowed = (
            np.concatenate(columns).astype(float)
            for columns in zip(*map(_columns, parts), strict=True)
        )
        # Over seeds the search counts no noise, which is allowed here.
        bad = (ratio > 1) & ~(np.abs(observed - predicted) <= allowed)
        if bad.sum() <= 5 or not (predicted[bad] * observed[bad] > 0).all():
            continue
        ends = np.array([observed - allowed, observed + allowed])[:, bad] / predicted[bad]
        low, high = ends.min(axis=0).max(), ends.max(axis=0).min()
        if low <= high:
            factor, failures = _simplest_number(low, high), int(bad.sum())
            words = f"times {factor:g} it would be kept at all {failures} failures"
            lines.append(f"{name}: {words}: a constant that does for these, not yet the repair")
    return lines


def _columns(judged: Judged) -> tuple[Any, Any, Any, Any]:
    return judged.predicted, judged.observed, judged.ratio, judged.allowed


def _simplest_number(low: float, high: float) -> float:
    """The number of fewest digits from `low` to `high`.

    >>> _simplest_number(0.4993, 0.5021)
    0.5
    """
    middle = (low + high) / 2
    rounded = (float(f"{middle:.{places}e}") for places in range(16))
    return next((x for x in rounded if low <= x <= high), middle)
