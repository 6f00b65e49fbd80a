"""The theory judged by a study: every prediction of its plan, for each optimizer, with a verdict.

Runs have seeds of their own, so they are independent. A *pair* is run k of the lowest level of a
factor and run k of its highest, all other factors being the same: no run is in two pairs.

- ``sooner``: the share of pairs in which the concept is learned sooner at the highest level.
- ``times``: log(t at the lowest / t at the highest) of the concept in each pair, less the logarithm
  of the ratio of its signals; Student's 95 % interval of the mean over pairs. It holds where the
  interval lies within the factor ``within`` of the prediction, fails where it lies outside, and is
  else undecided, as it is with fewer than three pairs or where a concept is never learned.
- ``order``: the share of runs in which the concept with the larger signal is learned first, in
  cells whose signals differ by more than ``within``.
- ``bend``: the share of runs in which the path of the responses at the held-out corner bends to
  the concept with the larger signal, in the same cells.
- ``composed``: the share of runs that make a circle of the held-out class, by measurement, of most
  images asked for in the end.

Shares have Wilson's interval and are held against ``share`` of the plan
(:func:`swingby.theory.share.reaches`).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from studies.image_plan import Plan, Prediction
from studies.image_study import ImageStudy
from swingby.errors import InvalidInput
from swingby.lab.diffusion.circles import CONCEPTS, EMPTY, HELD_OUT, NOISE, Circles
from swingby.lab.diffusion.course import Course, ImageCell, bend, learning_times, responses
from swingby.lab.diffusion.signals import REPRESENTATIONS, falls, measure, rates
from swingby.lab.field_checks import instance
from swingby.lab.figures.evidence import Kind
from swingby.report import Framed, Grid
from swingby.report.files import storable
from swingby.theory.share import judged, needed, reaches, share_of, two_sided
from swingby.theory.verdict import Verdict, counted, inside

#: Fewer values decide nothing: Student's interval of two is thirteen times their half distance.
_FEWEST = 3


@dataclass(frozen=True)
class JudgedPrediction:
    """A prediction judged for an optimizer.

    `observed` with its 95 % interval `low` to `high` is a share, or of times the factor; nan where
    there is none. `runs` are pairs or runs that count, `needed` those at which the same share
    decides, None where no number does.
    """

    prediction: Prediction
    optimizer: str
    predicted: str
    observed: float
    low: float
    high: float
    runs: int
    needed: int | None
    verdict: Verdict
    note: str = ""


@dataclass(frozen=True)
class Judgement(Framed):
    """The theory judged by a study. Made by :func:`swingby.lab.diffusion.judge`."""

    study: ImageStudy
    rows: tuple[JudgedPrediction, ...]

    def __repr__(self) -> str:
        return f"<Judgement: {counted(row.verdict for row in self.rows)}>"

    def of(self, kind: str, optimizer: str, **about: str) -> JudgedPrediction:
        """One row by the fields of its prediction; InvalidInput if there is none."""
        for row in self.rows:
            fields = asdict(row.prediction)
            if row.optimizer == optimizer and {"kind": kind, **about}.items() <= fields.items():
                return row
        raise InvalidInput("kind", (kind, optimizer, about), "must be a row of this judgement")

    def to_grids(self) -> tuple[Grid, Grid, Grid]:
        """Learning times, signals, and the predictions with their verdicts."""
        return _courses_grid(self.study), _signals_grid(self.study.plan), _verdicts_grid(self)

    def records(self) -> Iterator[dict[str, Any]]:
        """One row per prediction and optimizer."""
        for judged_row in self.rows:
            record = {
                **asdict(judged_row.prediction),
                **asdict(judged_row),
                "verdict": judged_row.verdict.value,
            }
            record.pop("prediction")
            yield record

    def to_dict(self) -> dict[str, Any]:
        """The rows with the digest of the plan, ready for JSON; None where there is no number."""
        return {
            "plan": self.study.plan.name,
            "digest": self.study.plan.digest,
            "rows": [storable(row) for row in self.records()],
        }


def judge(study: ImageStudy, *, confidence: float = 0.95) -> Judgement:
    """Judge the SIM theory by a study, prediction by prediction of its plan.

    `confidence` is that of the intervals alone; verdicts are by 95 %. The study may be unfinished;
    what is missing is counted as missing. InvalidInput for anything that is no study.
    """
    instance(study, "study", ImageStudy)
    rows = []
    for prediction in study.plan.predictions:
        for optimizer in study.plan.optimizers:
            if prediction.kind == "times":
                rows.append(_times(study, optimizer.name, prediction, confidence))
            else:
                rows.append(_of_share(study, optimizer.name, prediction, confidence))
    return Judgement(study, tuple(rows))


def _pairs(study: ImageStudy, optimizer: str, factor: str) -> Iterator[tuple[Course, Course]]:
    """Independent runs at the lowest and at the highest level of a factor."""
    levels = getattr(study.plan, factor)
    courses = {(course.cell, course.seed): course for course in study.courses}
    planned = study.plan.jobs
    for cell in study.plan.cells if len(levels) > 1 else ():
        if cell.optimizer == optimizer and getattr(cell, factor) == levels[0]:
            highest = replace(cell, **{factor: levels[-1]})
            # By place in the plan: of an unfinished study, pairs lack a run rather than change.
            jobs = [[job for job in planned if job[0] == each] for each in (cell, highest)]
            for low, high in zip(*jobs, strict=True):
                if low in courses and high in courses:
                    yield courses[low], courses[high]


def _of_share(
    study: ImageStudy, optimizer: str, prediction: Prediction, confidence: float
) -> JudgedPrediction:
    """A prediction judged by a share of runs, or of pairs of runs."""
    outcomes: list[bool | None] = []
    open_ = ""
    if prediction.kind == "sooner":
        p, open_ = CONCEPTS.index(prediction.concept), "never learned in {} pairs"
        for pair in _pairs(study, optimizer, prediction.factor):
            before, after = (learning_times(course)[p] for course in pair)
            outcomes.append(after < before if min(before, after) < math.inf else None)
    elif prediction.kind == "order":
        open_ = "no order in {} runs"
        for course, first in _clear(study, optimizer, prediction.signal):
            colour, size = learning_times(course)
            outcomes.append((colour < size) == (first == 0) if colour != size else None)
    elif prediction.kind == "bend":
        open_ = "a concept not learned at the corner in {} runs"
        for course, first in _clear(study, optimizer, prediction.signal):
            value = bend(responses(course, "held out"))
            outcomes.append((value > 0) == (first == 0) if math.isfinite(value) else None)
    else:
        outcomes += [
            course.held_out > 0.5 for course in study.courses if course.cell.optimizer == optimizer
        ]
    share = share_of([outcome for outcome in outcomes if outcome is not None])
    missing, threshold = len(outcomes) - share.total, study.plan.share
    return JudgedPrediction(
        prediction,
        optimizer,
        f"in {threshold:.0%}",
        *(share.value, *share.interval_at(confidence), share.total),
        needed(share, threshold),
        reaches(share, threshold),
        open_.format(missing) if missing else "",
    )


def _times(
    study: ImageStudy, optimizer: str, prediction: Prediction, confidence: float
) -> JudgedPrediction:
    p, plan = CONCEPTS.index(prediction.concept), study.plan
    off, expected = [], []
    for low, high in _pairs(study, optimizer, prediction.factor):
        slow, fast = (_rates(plan, course.cell, prediction.signal)[p] for course in (low, high))
        before, after = (learning_times(course)[p] for course in (low, high))
        learned = min(before, after) > 0 and max(before, after) < math.inf
        expected.append(math.log(fast / slow))
        off.append(math.log(before / after) - expected[-1] if learned else math.nan)
    middle = float(np.mean(expected)) if expected else math.nan
    finite = [difference for difference in off if math.isfinite(difference)]
    (mean, low_, high_), missing = _student(finite, confidence), len(off) - len(finite)
    verdict, note = Verdict.UNDECIDED, f"no time in {missing} pairs" if missing else ""
    if not missing and len(off) >= _FEWEST:
        reach = math.log(plan.within)
        verdict = inside(_student(finite)[1:], -reach, reach)
    predicted = "-" if math.isnan(middle) else f"{math.exp(middle):.3g}"
    factor, lowest, largest = (math.exp(middle + log) for log in (mean, low_, high_))
    return JudgedPrediction(
        prediction, optimizer, predicted, factor, lowest, largest, len(finite), None, verdict, note
    )


def _student(values: Sequence[float], confidence: float = 0.95) -> tuple[float, float, float]:
    """Mean and Student's interval; nan of too few."""
    from scipy.stats import t

    n = len(values)
    mean = float(np.mean(values)) if n else math.nan
    reach = math.nan
    if n > 1:
        reach = float(t.ppf((1 + confidence) / 2, n - 1) * np.std(values, ddof=1) / math.sqrt(n))
    return mean, mean - reach, mean + reach


def _clear(study: ImageStudy, optimizer: str, signal: str) -> Iterator[tuple[Course, int]]:
    """Courses of cells whose signals differ clearly, with the concept of the larger signal."""
    for course in study.courses:
        if course.cell.optimizer == optimizer:
            colour, size = _rates(study.plan, course.cell, signal)
            if abs(math.log(colour / size)) > math.log(study.plan.within):
                yield course, 0 if colour > size else 1


def _rates(plan: Plan, cell: ImageCell, signal: str) -> tuple[float, float]:
    preset = plan.preset_of(cell)
    return rates(cell.circles(preset.pixels), preset, signal)


#: A turn of the squared distance counts if it is so large a part of its start; a speed falls if
#: its rank correlation with the step, from its maximum on, lies below the second.
TURN, FALLS = 0.05, -0.5


def figure_rows(study: ImageStudy, *, confidence: float = 0.95) -> list[dict[str, Any]]:
    """Figs. 6 and 19 of the paper by a study, with the fields of a row of the evidence table.

    The concept space is that of the responses at the held-out corner, of which the paper reads
    its curves with a classifier; separations are the largest, as in the paper.
    """
    from scipy.stats import spearmanr

    instance(study, "study", ImageStudy)
    rows, plan = [], study.plan
    levels = {plan.contrast[-1]: ("colour", 0), plan.contrast[0]: ("size", 1)}

    def row(figure: str, statement: str, **found: Any) -> None:
        about = {"source": "images", "setting": f"Fig. {figure}", "edition": "", "needed": None}
        # Nothing is trained for Fig. 19: it describes the images.
        kind = Kind.DESCRIPTION if figure == "19" else Kind.CLAIM
        rows.append({**about, "kind": kind, "statement": statement, **found})

    for optimizer in plan.optimizers:
        courses = [each for each in study.courses if each.cell.optimizer == optimizer.name]
        for contrast, (concept, index) in levels.items():
            cells = [c for c in courses if c.cell.separation == plan.separation[-1]]
            times = [learning_times(c, "held out") for c in cells if c.cell.contrast == contrast]
            first = [(a > b) == index for a, b in times if a != b]
            words = f"{concept} is learned first at contrast {contrast:g}"
            row(
                f"6 (a), {optimizer.name}", words, **judged(share_of(first), plan.share, confidence)
            )
        turns, slower = [], []
        for course in courses:
            path = responses(course, "held out")
            loss = ((path - 1) ** 2).sum(1)
            turns.append(falls(loss, TURN) > 1)
            speed = np.linalg.norm(np.diff(path, axis=0), axis=1) / np.diff(course.steps)
            start = int(speed.argmax())
            # A path that is fastest in the end does not slow down.
            long_enough = len(speed) - start > _FEWEST
            trend = spearmanr(course.steps[start:-1], speed[start:])[0] if long_enough else 1.0
            slower.append(trend < FALLS)
        words = f"the concept-space error falls again after a rise of {TURN:.0%}"
        row(f"6 (b), {optimizer.name}", words, **judged(share_of(turns), plan.share, confidence))
        words = "concept learning slows down"
        row(f"6 (c), {optimizer.name}", words, **judged(share_of(slower), plan.share, confidence))
    for contrast, (concept, index) in levels.items():
        circles = Circles(contrast, plan.preset.pixels, separation=plan.separation[-1])
        signals = measure(circles)
        log = signals.log_ratio

        def interval(level: float, signals: Any = signals) -> tuple[float, float]:
            reach = two_sided(level) * signals.error
            return math.exp(signals.log_ratio - reach), math.exp(signals.log_ratio + reach)

        low, high = interval(confidence)
        limits = {"most": 1.0} if index else {"least": 1.0}
        verdict = inside(interval(0.95), **limits)
        words = f"the signal of {concept} is the stronger one at contrast {contrast:g}"
        stated = {"predicted": f"a colour / a size {'<' if index else '>'} 1", "seeds": 0}
        measured = {"observed": f"{math.exp(log):.3g}", "interval": f"[{low:.3g}, {high:.3g}]"}
        row("19", words, **stated, **measured, verdict=verdict)
    return rows


def _courses_grid(study: ImageStudy) -> Grid:
    columns = (
        "optimizer", ">separation", ">contrast", ">gain", ">runs",
        *(f">{concept} learned" for concept in CONCEPTS),
        *(f">{concept} held out" for concept in CONCEPTS),
        ">bend", ">right", ">empty", ">noise",
    )  # fmt: skip
    rows = []
    for cell in filter(study.at, study.plan.cells):
        courses = study.at(cell)
        factors = (cell.separation, cell.contrast, cell.gain)
        row = [cell.optimizer, *(f"{level:g}" for level in factors), str(len(courses))]
        for corner in ("trained", "held out"):
            times = np.array([learning_times(course, corner) for course in courses])
            row += [_spread(column) for column in times.T]
        bends = [bend(responses(course, "held out")) for course in courses]
        finite = [value for value in bends if math.isfinite(value)]
        last = np.mean([course.kinds[-1, HELD_OUT] for course in courses], axis=0)
        row.append(f"{np.mean(finite):.2f}" if finite else "-")
        rows.append(row + [f"{last[kind]:.3f}" for kind in (HELD_OUT, EMPTY, NOISE)])
    below = (
        "learned: step from which on the response of the trained classes, linear in pixels, stays"
        " above 1/2: mean over runs (least to most); held out: at the held-out corner",
        "bend: of the path of the responses at the held-out corner, +1 colour first and then size,"
        " -1 the other way round",
        "right, empty, noise: shares of the images of the held-out class at the end, by the circle"
        " that is measured in them; what is missing to 1 is another circle",
    )
    return Grid(f"Plan {study.plan.name}, {study.plan.digest}: courses", columns, rows, below=below)


def _spread(values: Any) -> str:
    """Mean, least and most."""
    if not np.isfinite(values).all():
        return f"never in {int(np.isinf(values).sum())}"
    if len(values) == 1:
        return f"{values[0]:.0f}"
    return f"{values.mean():.0f} ({values.min():.0f} to {values.max():.0f})"


def _signals_grid(plan: Plan) -> Grid:
    rows = {}
    for name, cell in itertools.product(REPRESENTATIONS, plan.cells):
        circles, gain = cell.circles(plan.preset.pixels), plan.preset_of(cell).layout.gain
        gain_text = f"{cell.gain:g}" if name in ("condition", "covariance") else "any"
        factors = (name, f"{cell.separation:g}", f"{cell.contrast:g}", gain_text)
        if factors not in rows:
            signals = measure(circles, name, gain=gain)
            ratio = math.exp(signals.log_ratio)
            spread = f"{ratio:.3g} ± {1.96 * signals.error * ratio:.1g}"
            sizes = [f"{value:.4g}" for value in (*signals.mu, *signals.a)]
            rows[factors] = [*factors, *sizes, spread, f"{signals.overlap:.3f}"]
    columns = (
        "signals", ">separation", ">contrast", ">gain", ">mu colour", ">mu size", ">a colour",
        ">a size", ">a colour / a size", ">overlap",
    )  # fmt: skip
    below = (
        "a = sigma^2 + mu^2/2; overlap: cosine between the directions of colour and size, which"
        " the theory takes for 0",
    )
    return Grid("Signals of colour and size", columns, list(rows.values()), below=below)


def _verdicts_grid(judgement: Judgement) -> Grid:
    plan = judgement.study.plan
    rows = []
    for row in judgement.rows:
        prediction = row.prediction
        observed = "-" if math.isnan(row.observed) else f"{row.observed:.3g}"
        observed += "" if math.isnan(row.low) else f" [{row.low:.3g}, {row.high:.3g}]"
        about = (
            prediction.kind,
            prediction.concept or "both",
            prediction.factor,
            prediction.signal,
            row.optimizer,
        )
        rows.append([*about, row.predicted, observed, str(row.runs), row.verdict.value, row.note])
    columns = (
        "prediction", "concept", "factor", "signal", "optimizer", ">predicted",
        ">observed [95 %]", ">runs", "verdict", "",
    )  # fmt: skip
    below = (
        counted(row.verdict for row in judgement.rows),
        f"shares (sooner, order, bend, composed): Wilson's interval on one side of {plan.share:g};"
        " a pair of runs, one at each level of the factor, counts once",
        f"times: of the lowest level over the highest; Student's interval within a factor"
        f" {plan.within:g} of the prediction holds, outside fails",
        f"order, bend: in cells whose signals differ by more than a factor {plan.within:g};"
        " intervals are not corrected for the number of rows",
    )
    title = f"The theory judged by diffusion models, plan {plan.name}, {plan.digest}"
    return Grid(title, columns, rows, below=below)
