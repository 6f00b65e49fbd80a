"""How a Judgement looks as a table."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from swingby.diffusion.judging import judge as rules
from swingby.diffusion.judging.flip_rule import ACCURACY, FLIP_REACH
from swingby.diffusion.judging.predictions import TOO_CLOSE
from swingby.diffusion.judging.turning import ERROR_OF_NOISE
from swingby.diffusion.judging.verdict_rules import ACCURACY as VALUE_ACCURACY
from swingby.report import Grid
from swingby.theory.verdict import counted

if TYPE_CHECKING:
    from swingby.diffusion.judging.judgement import Judgement, Row
    from swingby.diffusion.signals import Signals


def judgement_grid(judgement: Judgement) -> Grid:
    """A row per prediction, with the rules below."""
    columns = (
        "prediction", ">contrast", "quantity", ">predicted", ">observed [95 %]", ">seeds",
        "verdict", "",
    )  # fmt: skip
    rows = [
        [
            one.prediction,
            "all" if one.contrast is None else f"{one.contrast:.3g}",
            one.quantity,
            one.predicted,
            interval_text(one),
            str(one.seeds),
            one.verdict.value,
            one.note,
        ]
        for one in judgement.rows
    ]
    counts = counted(one.verdict for one in judgement.rows)
    kinds = {(one.representation, one.pixels) for one in judgement.signals}
    signals = "; ".join(f"signals: {name}, {size} pixels" for name, size in sorted(kinds))
    above = (signals, f"learned: the response of the {judgement.corner} classes stays above 1/2")
    return Grid(
        "The theory judged by diffusion models", columns, rows, above=above,
        below=(counts, *definitions()),
    )  # fmt: skip


def definitions() -> tuple[str, ...]:
    """The rules in a few lines, with the numbers in force."""
    factor = math.exp(rules.RATIO_REACH)
    return (
        "intervals: Student's over seeds, 95 %; undecided with less than 3 seeds, or where a seed"
        " has no value; not corrected for the number of rows",
        f"order, bend: the interval lies on the predicted side; none is predicted within"
        f" {100 * TOO_CLOSE:.0f} % (or the error of the signals) of equal a",
        f"ratio: the interval comes within {100 * VALUE_ACCURACY:.0f} % of the ratio of a and is"
        f" within a factor {factor:.1f} of its middle; slopes: within {VALUE_ACCURACY} of 1, reach"
        f" {rules.SLOPE_REACH}; flip: within {100 * ACCURACY:.0f} %, reach {FLIP_REACH}",
        f"rise: above {ERROR_OF_NOISE:.2g}, at saves picked by the other seeds; predicted for a"
        f" lead above {rules.LARGE_LEAD}; fails if surely below {rules.LEAST_RISE}",
        f"slow-down: Akaike's criterion, power law minus exponential, at least"
        f" {rules.LEAST_EVIDENCE:.0f} on average",
    )


def interval_text(row: Row) -> str:
    """Observed value with its interval."""
    known = math.isfinite(row.low) and math.isfinite(row.high)
    if not math.isfinite(row.observed):
        return f"in [{row.low:.3g}, {row.high:.3g}]" if known else "-"
    shown = f"{row.observed:.3g}"
    return f"{shown} [{row.low:.3g}, {row.high:.3g}]" if known else shown


def signals_grid(signals: Sequence[Signals]) -> Grid:
    """A row per contrast."""
    columns = (
        ">contrast", "representation", ">pixels", ">mu colour", ">mu size", ">sigma colour",
        ">sigma size", ">a colour", ">a size", ">a colour / a size", ">overlap",
    )  # fmt: skip
    rows = [
        [
            f"{one.contrast:.3g}",
            one.representation,
            str(one.pixels),
            *(f"{value:.4g}" for value in (*one.mu, *one.sigma, *one.a)),
            f"{math.exp(one.log_ratio):.3g} ± {1.96 * one.error * math.exp(one.log_ratio):.1g}",
            f"{one.overlap:.3f}",
        ]
        for one in signals
    ]
    below = (
        "a = sigma^2 + mu^2/2; overlap: cosine between the directions of colour and size, which"
        " the theory takes for 0",
    )
    return Grid("Signals of colour and size", columns, rows, below=below)
