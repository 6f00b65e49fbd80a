"""Figures 2a, 2b, 11 and 12: which concept is learned first, against mu and against sigma."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import chain
from typing import Any

import numpy as np

from swingby.lab.figures.figure import Criterion, Data, Edition, Figure, Measured, criterion
from swingby.lab.figures.network_cells import NETWORK, cell_of, code_cells, commands, edition_of
from swingby.lab.figures.network_runs import train_cells
from swingby.lab.figures.panels import outputs_picture
from swingby.lab.figures.run_criteria import (
    THRESHOLD,
    bulge_changes_side,
    by_label,
    comes_first,
    order_follows_signal,
    slows_down,
    verdict_of,
    within,
)
from swingby.lab.networks import Network
from swingby.theory.share import share_of
from swingby.theory.verdict import all_hold, yes

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


#: Cells of the caption and of the code edition.
Cells = tuple[list[dict[str, Any]], list[dict[str, Any]]]


def along_mu(network: Network) -> Cells:
    """Balanced spreads and varied means."""
    label = "\u03bc = ({}, {})"
    numbers = _MU_COMMANDS[network.depth, network.activation]
    coded = [label.format(*commands()[number]["mu"].split()) for number in numbers]
    return (
        [cell_of("caption", label.format(*mu), mu, ("0.05",) * 2, network=network) for mu in MUS],
        code_cells(numbers, coded),
    )


def along_sigma(network: Network) -> Cells:
    """The means (1, 2) and varied spread of concept 1."""
    numbers = _SIGMA_COMMANDS[network.depth, network.activation]
    coded = [
        f"\u03c3\u00b2\u2081 = {commands()[number]['variance'].split()[0]}" for number in numbers
    ]
    printed = {f"\u03c3\u2081 = {sigma}": (sigma, "0.05") for sigma in SIGMAS}
    return (
        [
            cell_of("caption", label, ("1", "2"), two, network=network)
            for label, two in printed.items()
        ],
        code_cells(numbers, coded),
    )


def editions(network: Network, *variations: Callable[[Network], Cells]) -> tuple[Edition, ...]:
    """The caption and the code edition of a figure with the cells of some variations."""
    both = zip(*(variation(network) for variation in variations), strict=True)
    caption, code = (list(chain(*cells)) for cells in both)
    words = "ReLU" if network.activation == "relu" else network.activation
    layers = "1 layer" if network.depth == 1 else f"{network.depth} layers, {words}"
    coded = f"{layers}, d = 64, \u03c3 a variance, mean loss, centre cluster"
    return (
        edition_of("caption", caption, f"{layers}, d = 64, loss (2.1)"),
        edition_of("code", code, coded),
    )


def flips(source: str) -> Criterion:
    """The criterion that more diversity makes the weaker concept the first."""

    @criterion(
        "flip",
        "With more diversity of the weaker concept the order flips.",
        "flips",
        f"concept 2 first at the smallest spread, and concept 1 at the largest ({source}), each "
        f"{THRESHOLD}",
    )
    def judge(data: Data) -> Measured:
        shares = [share_of(firsts) for firsts in comes_first(data, 2)]
        last = share_of(comes_first(data, 1)[-1])
        return Measured(
            f"{shares[0].value:.0%} to {shares[-1].value:.0%}",
            all_hold([verdict_of(shares[0]), verdict_of(last)]),
            f"Shares of the runs that learn concept 2 first: {by_label(data, shares)}.",
            {"shares": [share.value for share in shares]},
        )

    return judge


@criterion(
    "signal",
    "The order flips where the signals a = sigma^2 + mu^2/c are equal (Theorem 4.1).",
    "not stated",
    "in every setting most runs learn the concept with the larger signal first; signals that "
    "differ by less than a tenth are no matter",
)
def flips_where_signals_cross(data: Data) -> Measured:
    """The order flips at a_1 = a_2, as the theory says."""
    first, second = (comes_first(data, concept).mean(axis=1) for concept in (1, 2))
    gap = np.log(data["signal"][:, 0] / data["signal"][:, 1])
    agrees = np.where(gap > 0, first > 0.5, second >= 0.5)
    wrong = int((~agrees & (np.abs(gap) >= TIE)).sum())
    listed = [
        f"a1/a2 = {np.exp(g):.2f}, concept 1 first in {s:.0%}"
        for g, s in zip(gap, first, strict=True)
    ]
    return Measured(
        f"{wrong} settings differ" if wrong else "as a1 = a2 says",
        yes(not wrong),
        f"{by_label(data, listed)}.",
        {"wrong": wrong},
    )


#: Cells of the figures with both: sigma varied first, then mu.
_SIGMA, _MU = slice(0, len(SIGMAS)), slice(len(SIGMAS), None)
_BOTH = ((_SIGMA, "\u03bc = (1, 2), \u03c3 varied"), (_MU, "\u03c3 = 0.05, \u03bc varied"))


def _two_layers(number: str, activation: str, words: str) -> Figure:
    """A figure of two layers with varied sigma on the left and varied mu on the right."""
    return Figure(
        number=number,
        title=f"output at the test point, two layers, {words}",
        claim="The order of learning follows mu and sigma as with one layer.",
        source="App. F.2",
        editions=editions(Network(2, None, activation), along_sigma, along_mu),
        compute=train_cells,
        criteria=(
            within(flips("App. F.2"), _SIGMA, "sigma"),
            within(flips_where_signals_cross, _SIGMA, "sigma"),
            within(order_follows_signal, _MU, "mu"),
            within(bulge_changes_side, _MU, "mu"),
        ),
        draw=partial(outputs_picture, parts=_BOTH),
    )


FIGURES = (
    Figure(
        number="2a",
        title="output at the test point against mu, one layer",
        claim="The concept with the larger mu is learned first, so the path bulges to its side.",
        source="Sec. 3.1, 3.2",
        editions=editions(NETWORK, along_mu),
        compute=train_cells,
        criteria=(order_follows_signal, bulge_changes_side, slows_down),
        draw=outputs_picture,
    ),
    Figure(
        number="2b",
        title="output at the test point against sigma, one layer",
        claim="More diversity of the weaker concept turns the order of learning around.",
        source="Sec. 3.1",
        editions=editions(NETWORK, along_sigma),
        compute=train_cells,
        criteria=(flips("Sec. 3.1"), flips_where_signals_cross),
        draw=outputs_picture,
    ),
    _two_layers("11", "linear", "linear activations"),
    _two_layers("12", "relu", "ReLU"),
)
