"""How accurate the stage law is: every stage of random instances, predicted and observed.

Run with ``make accuracy``, or ``python -m benchmarks.accuracy --out docs/accuracy.md``. With
``--misses FILE`` every instance that misses something is written to a file, one a line, and
``--replay FILE`` predicts and runs these again. A page given as ``--out`` keeps its text: the
table goes between its two marks, with ``--row`` only those rows of it. What the columns mean is in
docs/accuracy.md.
"""

from __future__ import annotations

import argparse
import json
import math
import platform
import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import swingby
from benchmarks.instances import CELLS, Cell, Instance, instances
from benchmarks.observe import Observed, observe
from swingby.report import Grid

Floats = NDArray[np.float64]

#: Between these, a page has the table.
MARKS = ("<!-- accuracy table -->\n", "<!-- end of the table -->")
#: Steps within which a crossing counts as hit.
CLOSE = 0.02
#: Peak heights take ten times as long to predict as half-times: every fifth instance.
HEIGHTS_EVERY = 5


@dataclass(frozen=True, eq=False)
class Predicted:
    """What the law says of one instance."""

    crossing: Floats
    error: Floats
    trapped: NDArray[np.bool_]
    undecided: NDArray[np.bool_]
    blow_up: float
    blow_up_error: float
    heights: dict[tuple[int, int], float]

    @classmethod
    def of(cls, instance: Instance, dynamics: str, *, heights: bool = False) -> Predicted:
        """Predict one instance."""
        task = swingby.SIMTask.from_signal(instance.signal.tolist())
        schedule = swingby.predict(task, instance.W0, eta=instance.eta, dynamics=dynamics)
        stages, events = schedule.stages, schedule.events if heights else ()
        return cls(
            crossing=stages.crossing,
            error=stages.error,
            trapped=stages.trapped,
            undecided=stages.undecided,
            blow_up=stages.blow_up,
            blow_up_error=stages.blow_up_error,
            heights={one.entry: one.time for one in events if one.event == "peak height"},
        )


@dataclass
class Tally:
    """What one row counts; lists have one number a stage, a peak or a runaway."""

    instances: int = 0
    lost: int = 0  # instances with an observed trap
    cut: int = 0
    unmatched: int = 0
    seconds: float = 0.0
    distance: list[float] = field(default_factory=list)
    covered: list[bool] = field(default_factory=list)
    bar: list[float] = field(default_factory=list)
    exact: list[bool] = field(default_factory=list)
    overconfident: int = 0
    agree: int = 0
    missed: int = 0
    false: int = 0
    undecided: int = 0
    blind: int = 0
    runaway: list[float] = field(default_factory=list)
    runaway_covered: list[bool] = field(default_factory=list)
    heights: list[float] = field(default_factory=list)

    def add(self, law: Predicted, run: Observed) -> list[str]:
        """Count one instance; what it misses, in words."""
        self.instances += 1
        self.cut += run.cut
        return [*self._stages(law, run), *self._traps(law, run), *self._runaway(law, run)]

    def _stages(self, law: Predicted, run: Observed) -> list[str]:
        wrong = []
        predicted, seen = np.isfinite(law.crossing), np.isfinite(run.crossing)
        # A bar that is not a number promises nothing about a stage that is predicted or seen.
        bar = np.where(np.isnan(law.error) | law.undecided, math.inf, law.error)
        for k in np.flatnonzero(predicted | seen):
            both = predicted[k] and seen[k]
            distance = abs(law.crossing[k] - run.crossing[k]) if both else math.inf
            # A stage that is denied without a doubt has no bar to hide behind.
            silent = not predicted[k] and not law.undecided[k] and math.isnan(law.error[k])
            covered = not silent and bool(distance <= bar[k])
            exact = bool(both and math.ceil(law.crossing[k]) == run.half_times[k])
            self.unmatched += not both
            self.distance.append(distance)
            self.covered.append(covered)
            self.bar.append(float(bar[k]))
            self.exact.append(exact)
            if not exact:
                said = not silent and bar[k] == math.inf
                near = both and abs(law.crossing[k] - round(law.crossing[k])) <= bar[k]
                self.overconfident += not (said or near)
            if distance > CLOSE:
                wrong.append(f"concept {k + 1} off by {distance:.3g}")
            if not covered:
                wrong.append(f"concept {k + 1} outside its bar of {bar[k]:.2g}")
        return wrong

    def _traps(self, law: Predicted, run: Observed) -> list[str]:
        # After a runaway nothing is learned, and which concept ran away first is a matter of
        # rounding: then the instance counts. Where a run settles, each concept does.
        away = math.isfinite(run.runaway)
        seen = np.array([away]) if away else ~run.learned
        said = np.array([law.trapped.any()]) if away else law.trapped
        agree = bool((seen == said).all())
        doubt = bool(law.undecided.any())
        self.lost += bool(seen.any())
        self.agree += agree
        self.missed += bool((seen & ~said).any())
        self.false += bool((said & ~seen).any())
        self.undecided += doubt
        self.blind += not agree and not doubt
        if agree:
            return []
        return ["trap wrong, undecided" if doubt else "trap wrong and not said so"]

    def _runaway(self, law: Predicted, run: Observed) -> list[str]:
        if not math.isfinite(run.runaway):
            return []
        distance = abs(law.blow_up - run.runaway)
        covered = bool(distance <= law.blow_up_error)
        self.runaway.append(distance)
        self.runaway_covered.append(covered)
        return [] if covered else [f"runaway off by {distance:.3g}"]

    def peaks(self, law: Predicted, run: Observed) -> None:
        """Compare the heights of minor entries, where nothing runs away."""
        if math.isinf(run.runaway):
            for (i, j), height in law.heights.items():
                seen = run.heights[max(i, j), min(i, j)]
                if seen > 1e-300:
                    self.heights.append(abs(height / seen - 1))


def quantile(values: Sequence[float], level: float) -> float:
    """Smallest value that at least this share of the values does not exceed; inf counts."""
    if not values:
        return math.nan
    return sorted(values)[max(math.ceil(level * len(values)) - 1, 0)]


def measure(cell: Cell, dynamics: str, runs: int) -> tuple[Tally, list[dict[str, Any]]]:
    """One row of the table, and what it misses."""
    tally, misses = Tally(), []
    started = time.perf_counter()
    for number, instance in enumerate(instances(cell, runs)):
        with_heights = number % HEIGHTS_EVERY == 0
        law = Predicted.of(instance, dynamics, heights=with_heights)
        run = _observe(instance, dynamics)
        wrong = tally.add(law, run)
        if with_heights:
            tally.peaks(law, run)
        if wrong:
            misses.append(
                {"row": cell.label, "number": number, "dynamics": dynamics, "wrong": wrong}
                | {name: _plain(value) for name, value in asdict(instance).items()}
                | {name: _plain(getattr(law, name)) for name in ("crossing", "error", "blow_up")}
                | {name: _plain(getattr(law, name)) for name in ("trapped", "undecided")}
                | {"observed": _plain(run.crossing), "runaway": run.runaway}
            )
    tally.seconds = time.perf_counter() - started
    return tally, misses


def _observe(instance: Instance, dynamics: str) -> Observed:
    return observe(instance.signal, instance.eta, instance.U0, instance.W0, dynamics)


def _plain(value: Any) -> Any:
    return value.tolist() if isinstance(value, np.ndarray) else value


def _share(values: Iterable[bool]) -> str:
    known = list(values)
    return f"{100 * float(np.mean(known)):.1f}" if known else "-"


def _steps(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.2g}"


def row(cell: Cell, dynamics: str, tally: Tally) -> list[str]:
    """The cells of one row."""
    away = tally.runaway
    return [
        cell.label,
        dynamics,
        f"{tally.instances} ({tally.lost})",
        f"{len(tally.distance)} ({tally.unmatched})",
        " / ".join(_steps(quantile(tally.distance, level)) for level in (0.5, 0.99, 1.0)),
        _share(value <= CLOSE for value in tally.distance),
        _share(tally.covered),
        _steps(quantile(tally.bar, 0.5)),
        _share(math.isinf(value) for value in tally.bar),
        f"{_share(tally.exact)} ({tally.overconfident})",
        f"{100 * tally.agree / tally.instances:.1f} ({tally.missed}, {tally.false})",
        f"{tally.undecided} ({tally.blind})",
        f"{_steps(quantile(away, 0.5))} / {_steps(quantile(away, 1.0))}" if away else "-",
        _share(tally.runaway_covered),
        f"{100 * quantile(tally.heights, 0.5):.1g} / {100 * quantile(tally.heights, 0.9):.1g}"
        if tally.heights
        else "-",
    ]


COLUMNS = (
    "row",
    "dynamics",
    ">instances (with a trap)",
    ">stages (unmatched)",
    ">crossing, off by steps: median / p99 / max",
    f">within {CLOSE:g} step, %",
    ">inside its bar, %",
    ">median bar, steps",
    ">bar infinite, %",
    ">exact step, % (overconfident)",
    ">traps agree, % (missed, false)",
    ">undecided (wrong and not said so)",
    ">runaway, off by steps: median / max",
    ">runaway inside its bar, %",
    ">peak height, median / p90 %",
)


def table(
    runs: int, cells: Sequence[Cell] = CELLS, misses: Path | None = None, *, tell: bool = False
) -> Grid:
    """The accuracy table."""
    rows, cut, missed = [], 0, []
    for cell in cells:
        for dynamics in cell.dynamics:
            tally, wrong = measure(cell, dynamics, runs)
            rows.append(row(cell, dynamics, tally))
            missed += wrong
            cut += tally.cut
            if tell:
                print(f"{cell.label}, {dynamics}: {tally.seconds:.1f} s", flush=True)
    if misses is not None:
        misses.write_text("".join(json.dumps(miss) + "\n" for miss in missed), encoding="utf-8")
    return Grid(
        title=f"Accuracy over {runs} random instances per row",
        columns=COLUMNS,
        rows=rows,
        above=["Every stage of every instance counts. Distances and bars are in steps."],
        below=[
            f"Runs that the bound on steps ended: {cut}.",
            f"Python {platform.python_version()}, numpy {np.__version__}, seed 7.",
        ],
    )


def replay(misses: Path) -> None:
    """Predict and run again what missed, and print both beside each other."""
    for line in misses.read_text(encoding="utf-8").splitlines():
        miss = json.loads(line)
        arrays = {name: np.array(miss[name], dtype=float) for name in ("signal", "U0", "W0")}
        instance = Instance(eta=miss["eta"], **arrays)
        law, run = Predicted.of(instance, miss["dynamics"]), _observe(instance, miss["dynamics"])
        wrong = Tally().add(law, run)
        print(f"{miss['row']}, {miss['dynamics']}, {miss['number']}: {'; '.join(wrong) or 'good'}")
        print(f"  signal {instance.signal}, eta {instance.eta:.6g}")
        print(f"  law {law.crossing} +- {law.error}, runaway {law.blow_up:.8g}")
        print(f"  run {run.crossing}, runaway {run.runaway:.8g}")


def _name(line: str) -> tuple[str, ...]:
    """Row and dynamics of a line of the table."""
    return tuple(line.split(" | ")[:2])


def write(grid: Grid, page: Path, *, whole: bool = True) -> None:
    """Put the table between the marks of a page, or into a new file.

    Where the table is not whole, its rows take the place of those of the same name.
    """
    text = grid.to_markdown() + "\n"
    if page.exists():
        before, mark, rest = page.read_text(encoding="utf-8").partition(MARKS[0])
        old, end, after = rest.partition(MARKS[1])
        if mark and end:
            if not whole:
                new = {_name(line): line for line in text.splitlines() if line.startswith("| ")}
                text = "".join(new.get(_name(line), line) + "\n" for line in old.splitlines())
            text = before + mark + text + end + after
    page.write_text(text, encoding="utf-8")


def main() -> None:
    """Print the table, and write it where asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1000, help="instances of a row")
    parser.add_argument("--row", action="append", help="only rows whose label has this in it")
    parser.add_argument("--out", type=Path, help="file for the table, as Markdown")
    parser.add_argument("--misses", type=Path, help="file for what misses, as JSON lines")
    parser.add_argument("--replay", type=Path, help="a file that --misses wrote")
    arguments = parser.parse_args()
    if arguments.replay is not None:
        replay(arguments.replay)
        return
    cells = [
        cell
        for cell in CELLS
        if arguments.row is None or any(part in cell.label for part in arguments.row)
    ]
    started = time.perf_counter()
    grid = table(arguments.runs, cells, arguments.misses, tell=True)
    print(grid.to_text(width=230))
    print(f"{time.perf_counter() - started:.0f} s")
    if arguments.out is not None:
        write(grid, arguments.out, whole=arguments.row is None)


if __name__ == "__main__":
    main()
