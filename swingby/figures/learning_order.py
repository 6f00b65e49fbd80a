"""Figures 2a, 2b, 11 and 12: which concept is learned first, against mu and against sigma."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from swingby.figures.criteria import (
    THRESHOLD,
    bulge_changes_side,
    first_is_second,
    order_follows_signal,
    verdict_of,
    within,
)
from swingby.figures.figure import Criterion, Data, Edition, Figure, Measured
from swingby.figures.trained import cell, code_edition, commands, edition_of, several, train_cells
from swingby.theory.verdict import Verdict, all_hold
from swingby.training.shares import share_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

#: From a stronger second concept to a stronger first one.
MUS = (("1", "2"), ("1.2", "1.8"), ("1.5", "1.5"), ("1.8", "1.2"), ("2", "1"))
#: Spread of the weaker first concept; 0.05 is that of Fig. 2 (a).
SIGMAS = ("0.05", "0.5", "1", "1.5", "2")
#: Commands of the public code, by depth and activation.
_MU_COMMANDS = {(1, "linear"): (17, 18, 19), (2, "linear"): (23, 24, 25), (2, "relu"): (20, 21, 22)}
_SIGMA_COMMANDS = {
    (1, "linear"): (2, 3, 4, 5, 6),
    (2, "linear"): (7, 8, 9, 10, 11),
    (2, "relu"): (12, 13, 14, 15, 16),
}
#: Signals are taken for equal below this difference of their logarithms: initial weights decide.
TIE = 0.1


def along_mu(depth: int, activation: str) -> tuple[Edition, ...]:
    """Editions of a figure with balanced sigma and varied mu."""
    label = "\u03bc = ({}, {})"
    cells = [
        cell("caption", label.format(*mu), mu, ("0.05",) * 2, depth=depth, activation=activation)
        for mu in MUS
    ]
    numbers = _MU_COMMANDS[depth, activation]
    labels = [label.format(*commands()[one]["mu"].split()) for one in numbers]
    return (
        edition_of("caption", cells, _note("caption", depth, activation)),
        code_edition(numbers, labels, _note("code", depth, activation)),
    )


def along_sigma(depth: int, activation: str) -> tuple[Edition, ...]:
    """Editions of a figure with mu = (1, 2) and varied spread of concept 1."""
    cells = [
        cell(
            "caption",
            f"\u03c3\u2081 = {one}",
            ("1", "2"),
            (one, "0.05"),
            depth=depth,
            activation=activation,
        )
        for one in SIGMAS
    ]
    numbers = _SIGMA_COMMANDS[depth, activation]
    first = [commands()[one]["variance"].split()[0] for one in numbers]
    labels = [f"\u03c3\u00b2\u2081 = {one}" for one in first]
    return (
        edition_of("caption", cells, _note("caption", depth, activation)),
        code_edition(numbers, labels, _note("code", depth, activation)),
    )


def _note(name: str, depth: int, activation: str) -> str:
    words = {"relu": "ReLU", "gelu": "GELU"}.get(activation, activation)
    layers = "1 layer" if depth == 1 else f"{depth} layers, {words}"
    reading = "\u03c3 a variance, mean loss, centre cluster" if name == "code" else "loss (2.1)"
    return f"{layers}, d = 64, {reading}"


def flips(source: str = "Sec. 3.1") -> Criterion:
    """The criterion that more diversity makes the weaker concept the first."""

    def judge(data: Data) -> Measured:
        second = first_is_second(data)
        shares = [share_of(one) for one in second]
        ends = {verdict_of(shares[0]), verdict_of(share_of(~second[-1]))}
        listed = ", ".join(f"{a}: {b}" for a, b in zip(data["labels"], shares, strict=True))
        return Measured(
            f"{shares[0].value:.0%} to {shares[-1].value:.0%}",
            all_hold(ends),
            f"Shares of the runs that learn concept 2 first: {listed}.",
            {"shares": [share.value for share in shares]},
        )

    return Criterion(
        "flip",
        "With more diversity of the weaker concept the order flips.",
        "flips",
        f"concept 2 first at the smallest spread, and concept 1 at the largest ({source}), each "
        f"{THRESHOLD}",
        judge,
    )


def flips_where_signals_cross() -> Criterion:
    """The criterion that the order flips where the theory has a_1 = a_2."""

    def judge(data: Data) -> Measured:
        shares = first_is_second(data).mean(axis=1)
        gap = np.log(data["signal"][:, 0] / data["signal"][:, 1])
        observed, expected, near = shares < 0.5, gap > 0, np.abs(gap) < TIE
        wrong = [
            label
            for label, a, b, c in zip(data["labels"], observed, expected, near, strict=True)
            if a != b and not c
        ]
        listed = ", ".join(
            f"{a}: a1/a2 = {np.exp(g):.2f}, concept 1 first in {1 - s:.0%}"
            for a, g, s in zip(data["labels"], gap, shares, strict=True)
        )
        return Measured(
            "as a1 = a2 says" if not wrong else f"{len(wrong)} settings differ",
            Verdict.FAILS if wrong else Verdict.HOLDS,
            f"{listed}.",
            {"wrong": len(wrong)},
        )

    return Criterion(
        "signal",
        "The order flips where the signals a = sigma^2 + mu^2/c are equal (Theorem 4.1).",
        "not stated",
        "in every setting most runs learn the concept with the larger signal first; signals that "
        "differ by less than a tenth are no matter",
        judge,
    )


#: Cells of the figures with both: sigma varied first, then mu.
_SIGMA, _MU = slice(0, len(SIGMAS)), slice(len(SIGMAS), None)


def two_layer_figure(number: str, activation: str, words: str) -> Figure:
    """A figure of two layers with varied sigma on the left and varied mu on the right.

    `activation` in {"linear", "relu"}. `words`: what its title calls the activation.
    """
    return Figure(
        number=number,
        title=f"output at the test point, two layers, {words}",
        claim="The order of learning follows mu and sigma as with one layer.",
        source="App. F.2",
        editions=several([along_sigma(2, activation), along_mu(2, activation)]),
        compute=train_cells,
        criteria=(
            within(flips("App. F.2"), _SIGMA, "sigma"),
            within(flips_where_signals_cross(), _SIGMA, "sigma"),
            within(
                order_follows_signal(
                    "The concept with the larger mu crosses one half first.", "larger mu first"
                ),
                _MU,
                "mu",
            ),
            within(bulge_changes_side(), _MU, "mu"),
        ),
        draw=_draw_both,
    )


def _draw_both(data: Data, title: str) -> Picture:
    from swingby.figures.panels import outputs_picture

    parts = [(_SIGMA, "\u03bc = (1, 2), \u03c3 varied"), (_MU, "\u03c3 = 0.05, \u03bc varied")]
    return outputs_picture(data, title, parts)
